// What of an event's properties stands in columns of its own, and the text of all of them as it is stored.
import { pseudonym } from '#pipelines/privacy/hash_identifiers.ts';
import { isPlaceholderId, numberId } from '#pipelines/privacy/placeholder_ids.ts';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import { idWorkBudget, type WorkBudget } from '#pipelines/privacy/work_budget.ts';
import { readShortText } from './rejections.ts';
import { own } from './sent_event.ts';

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
