import type { Effort } from '#pipelines/privacy/effort.ts';
import { redactText } from '#pipelines/privacy/redact_text.ts';
import { hashedSecretly } from './hashed_secretly.ts';
import type { RejectionCode } from './rejections.ts';
import { hasControlCharacter, SHORT_TEXT_CHARACTERS_MAX } from './short_text.ts';

const WHOLE_EMAIL = /^[^\s@]+@[^\s@]+$/;

export type EventNameOutcome = { ok: true; name: string } | { ok: false; code: RejectionCode };

/** The event's name: 1 to 200 characters after trimming, no control characters. Names that begin with `$` are ours. */
export function readEventName(sent: unknown): EventNameOutcome {
  if (sent === undefined || sent === null || sent === '') return { ok: false, code: 'event_name_missing' };
  if (typeof sent !== 'string') return { ok: false, code: 'event_name_invalid' };
  const name = sent.trim();
  if (name === '') return { ok: false, code: 'event_name_missing' };
  if (name.length > SHORT_TEXT_CHARACTERS_MAX) return { ok: false, code: 'event_name_too_long' };
  return hasControlCharacter(name)
    ? { ok: false, code: 'event_name_invalid' }
    : { ok: true, name: name.toWellFormed() };
}

/** The name as it may be stored: an address in it is redacted, a name that is an address becomes a keyed hash. */
export function cleanEventName(name: string, secret: Buffer, countries: readonly string[], effort?: Effort): string {
  const clean = redactText(name, false, countries, effort);
  return clean !== name && WHOLE_EMAIL.test(name) ? hashedSecretly(name, secret) : clean;
}
