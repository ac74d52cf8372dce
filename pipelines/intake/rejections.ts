// Why an event is not taken, and the rules of names and short texts.

import { pseudonym } from '#pipelines/privacy/hash_identifiers.ts';
import { redactText } from '#pipelines/privacy/redact_text.ts';
import type { WorkBudget } from '#pipelines/privacy/work_budget.ts';

/** Why an event, or a request body as a whole, was not taken. Messages never repeat what was sent. */
export const REJECTIONS = {
  body_not_object: 'The body must be a JSON object.',
  events_missing: 'The body must have an events array.',
  events_not_array: 'events must be an array.',
  events_empty: 'events must hold at least one event.',
  events_too_many: 'Too many events in one request.',
  event_not_object: 'An event must be a JSON object.',
  event_name_missing: 'event is required.',
  event_name_invalid: 'event must be a string without control characters.',
  event_name_too_long: 'event must have at most 200 characters.',
  uuid_invalid: 'uuid must be a string of 1 to 200 characters without control characters.',
  distinct_id_invalid: 'distinct_id must be a string of 1 to 200 characters without control characters.',
  timestamp_invalid: 'timestamp must be an ISO 8601 date and time.',
  timestamp_too_old: 'timestamp must not be more than two years old.',
  properties_not_object: 'properties must be a JSON object.',
  properties_too_deep: 'properties must not be nested more than 16 levels deep.',
  properties_too_many: 'properties must not hold more than 5000 values.',
  property_name_too_long: 'A property name must have at most 200 characters.',
  event_server_only: 'This event is for server keys only; the site says so.',
  action_source_unknown: '$action_source must be website, physical_store, phone_call, chat, email or system_generated.',
} as const;
export type RejectionCode = keyof typeof REJECTIONS;

const WHOLE_EMAIL = /^[^\s@]+@[^\s@]+$/;

type EventNameOutcome = { ok: true; name: string } | { ok: false; code: RejectionCode };

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
export function cleanEventName(
  name: string,
  secret: Buffer,
  countries: readonly string[],
  budget?: WorkBudget,
): string {
  const clean = redactText(name, false, countries, budget);
  return clean !== name && WHOLE_EMAIL.test(name) ? pseudonym(name, secret) : clean;
}

const SHORT_TEXT_CHARACTERS_MAX = 200;

/** Whether the text holds a character of Unicode's class Cc. A loop, as this runs on every id of every event. */
function hasControlCharacter(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return true;
  }
  return false;
}

/** Trimmed, 1 to 200 characters, none of them a control; null when it is anything else. */
export function readShortText(sent: unknown): string | null {
  if (typeof sent !== 'string') return null;
  const text = sent.trim();
  if (text === '' || text.length > SHORT_TEXT_CHARACTERS_MAX || hasControlCharacter(text)) return null;
  return text.toWellFormed();
}
