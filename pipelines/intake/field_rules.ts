// The rules of an event's fields, and why one is not taken: names, short texts, properties that stand in columns of their own, and the
// text of all properties as it is stored.

import { pseudonym } from '#pipelines/privacy/hash_identifiers.ts';
import { idWorkBudget, type WorkBudget } from '#pipelines/privacy/normalise_text.ts';
import { isPlaceholderId, numberId } from '#pipelines/privacy/placeholder_ids.ts';
import { holdsPersonalText, redactText } from '#pipelines/privacy/redact_text.ts';
import { own } from './json_text.ts';

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
  distinct_id_missing:
    'A historical event must have a distinct_id, an e-mail address, a phone number or an external_id.',
  timestamp_invalid: 'timestamp must be an ISO 8601 date and time.',
  timestamp_too_old: 'timestamp must not be more than two years old, of a historical event not before 2005.',
  timestamp_missing: 'A historical event must have a timestamp.',
  timestamp_ahead: 'timestamp of a historical event must not be more than a day ahead.',
  timestamp_not_kept: 'timestamp is further back than the site keeps events.',
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

/** Without a leading plus: that is rather a phone number in the wrong field. */
const DECIMAL = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const CURRENCY = /^[A-Za-z]{3}$/;
const NUMBER_CHARACTERS_MAX = 40;

/** The business fields that have columns of their own, and the properties that do not stay beside their column. */
export interface Columns {
  value: number | null;
  currency: string | null;
  order_id: string | null;
  lifted: ReadonlySet<string>;
}

const NOTHING_LIFTED: ReadonlySet<string> = new Set();
const ACTION_SOURCE_LIFTED: ReadonlySet<string> = new Set(['$action_source']);

/**
 * Reads value, currency and order_id. They stay among the properties too, so that nothing a sender measured is lost to a
 * typing mistake, and so that the properties of most events are passed on without being copied.
 */
export function readColumns(
  properties: Readonly<Record<string, unknown>>,
  secret: Buffer,
  countries: readonly string[],
  budget?: WorkBudget,
): Columns {
  const value = readValue(own(properties, 'value'));
  const currency = readCurrency(own(properties, 'currency'));
  const order_id = readOrderId(own(properties, 'order_id'), secret, countries, budget);
  const lifted = Object.hasOwn(properties, '$action_source') ? ACTION_SOURCE_LIFTED : NOTHING_LIFTED;
  return { value, currency, order_id, lifted };
}

function readValue(sent: unknown): number | null {
  if (typeof sent === 'number') return Number.isFinite(sent) ? sent : null;
  if (typeof sent !== 'string' || sent.length > NUMBER_CHARACTERS_MAX) return null;
  const text = sent.trim();
  const number = DECIMAL.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : null;
}

export function readCurrency(sent: unknown): string | null {
  const text = typeof sent === 'string' ? sent.trim() : '';
  return CURRENCY.test(text) ? text.toUpperCase() : null;
}

export function readOrderId(
  sent: unknown,
  secret: Buffer,
  countries: readonly string[],
  budget?: WorkBudget,
): string | null {
  const id = readShortText(typeof sent === 'number' && Number.isFinite(sent) ? numberId(sent) : sent);
  // Platforms count one order by an id once.
  if (id === null || isPlaceholderId(id)) return null;
  return holdsPersonalText(id, countries, idWorkBudget(budget)) ? pseudonym(id, secret) : id;
}

/** A number of so many digits may not fit 64 bits. */
const DIGITS_DOUBTFUL = 19;
/** How `JSON.stringify` escapes a surrogate without its other half. */
const HALF_PAIR = '\\ud';
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d{19,}(?=[,\]}])/g;
const ESCAPES = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g;

const INTEGER_MAX = 2 ** 64;
const INTEGER_MIN = -(2 ** 63);

/**
 * Properties as the JSON that is kept. ClickHouse reads a whole document as nothing where one number is an integer that does
 * not fit 64 bits, or a text has half a surrogate pair: such a number is written with an exponent, which is the same number,
 * and such a half as U+FFFD.
 */
export function propertiesText(properties: object): string {
  const text = JSON.stringify(properties);
  return hasDigitsInARow(text, DIGITS_DOUBTFUL) || text.includes(HALF_PAIR) ? text.replace(TOKENS, readable) : text;
}

/** Looks at every `count`th character only, as digits in a row cannot lie between: a regular expression looks at each. */
function hasDigitsInARow(text: string, count: number): boolean {
  for (let at = count - 1; at < text.length; at += count) {
    if (!isDigit(text, at)) continue;
    let from = at;
    while (isDigit(text, from - 1)) from -= 1;
    while (isDigit(text, at + 1)) at += 1;
    if (at + 1 - from >= count) return true;
  }
  return false;
}

/** False before the text's beginning and behind its end. */
function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
}

function readable(token: string): string {
  if (token.startsWith('"')) {
    return token.replace(ESCAPES, (one) => (one.startsWith('\\ud') ? '\ufffd' : one));
  }
  const value = Number(token);
  return value >= INTEGER_MAX || value <= INTEGER_MIN ? value.toExponential() : token;
}
