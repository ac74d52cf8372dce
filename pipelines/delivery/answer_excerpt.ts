import { redactText } from '#pipelines/privacy/redact_text.ts';
import type { PlatformAnswer } from '#schemas/records.ts';
import type { Answer } from './contract.ts';

/** Of the answer's text that is looked at. */
const READ_CHARACTERS_MAX = 1_024;
/** At the end of a text that was cut, what may be half an address or number, and so unknown as one. */
const CUT_CHARACTERS = 320;
const EXCERPT_CHARACTERS_MAX = 256;
/** Shorter values, such as a test code, are words of any text. */
const SECRET_CHARACTERS_MIN = 6;
const HIDDEN = '***';

/** Digests, and what is as long as tokens are; a UUID or a request's id is shorter. */
const DIGESTS = /\b[0-9a-f]{32,}\b/gi;
const TOKENS = /[\w~+/=.-]{40,}/g;
const IPV4 = /\b\d{1,3}(?:\.\d{1,3}){3}\b/g;
/** Two colons side by side, or four of them: a time of day has fewer. */
const IPV6 = /(?<![\w:])(?=[0-9a-f:]*::|(?:[0-9a-f]+:){4})[0-9a-f:]{3,39}(?![\w:])/gi;

/**
 * The status of a platform's answer and the begin of what it says, on one line: without e-mail addresses and phone numbers,
 * digests, network addresses, and anything that may be a secret. Null where there was no answer.
 *
 * @param secrets Opened secrets and tokens of the call.
 * @param countries Those by whose numbering plans phone numbers are recognised.
 */
export function answerExcerpt(
  answer: Answer,
  secrets: readonly string[],
  countries: readonly string[],
): PlatformAnswer | null {
  if (answer.kind === 'no_answer') return null;
  const whole = withoutSecrets(answer.body, secrets);
  const text = redactText(whole.slice(0, READ_CHARACTERS_MAX), true, countries);
  const clean = (whole.length > READ_CHARACTERS_MAX ? text.slice(0, -CUT_CHARACTERS) : text)
    .replace(DIGESTS, HIDDEN)
    .replace(TOKENS, HIDDEN)
    .replace(IPV4, HIDDEN)
    .replace(IPV6, HIDDEN)
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim();
  return { status: answer.status, body: clean.slice(0, EXCERPT_CHARACTERS_MAX).toWellFormed() };
}

/** In the whole text, so that no secret is cut in two. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length < SECRET_CHARACTERS_MIN) continue;
    for (const written of waysToWrite(secret)) clean = clean.replaceAll(written, HIDDEN);
  }
  return clean;
}

/** A secret as itself, in JSON (with and without its slashes escaped, as PHP writes it) and in a URL. */
function waysToWrite(secret: string): Set<string> {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return new Set([secret, inJson, inJson.replaceAll('/', '\\/'), encodeURIComponent(secret.toWellFormed())]);
}
