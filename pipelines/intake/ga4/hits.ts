// Hits of GA4's wire, and limits of their parameters.
import { isObject, type JsonObject, jsonIn } from '#pipelines/privacy/clean_properties.ts';
import { createWorkBudget, type WorkBudget } from '#pipelines/privacy/normalise_text.ts';

import { objectOr, sharedProblem } from '../json_text.ts';

/** One event as it is on GA4's wire. */
export interface Hit {
  /** The place of its line in the body; 0 where the query alone says it. */
  index: number;
  /** What was sent for this event alone: its line, or the query. */
  text: string;
  /** Decoded; a key that its line has wins over the query's. */
  fields: ReadonlyMap<string, string>;
}

type HitsProblem = 'hits_too_many' | 'hit_too_large' | 'parameters_too_many';
type HitsRead = { ok: true; hits: Hit[] } | { ok: false; problem: HitsProblem };

/** As many as a request of ours may hold; gtag closes a batch at 20. */
export const HITS_MAX = 50;
/** gtag closes a batch at 16,384 bytes; a beacon holds up to 64 KiB. */
export const HIT_CHARACTERS_MAX = 64 * 1024;
/** 200 items, and parameters many times over GA4's limit of 25. */
export const HIT_KEYS_MAX = 1_000;
/** Of all hits together, those of the query counted for each: 50 hits with 100 keys. */
const REQUEST_KEYS_MAX = 5_000;

/**
 * The hits of a request to /g/collect, where gtag.js sends: the query alone, or as many as the body has lines, which are
 * joined by CRLF or LF. A line holds what its event has beside the query or in place of it, and tells nothing to the next.
 *
 * @param query As it was sent, without the question mark.
 */
export function readHits(query: string, body: string): HitsRead {
  // Behind a byte order mark the first key would be another.
  const lines = body
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '');
  if (lines.length > HITS_MAX) return { ok: false, problem: 'hits_too_many' };
  if ([query, ...lines].some(isTooLarge)) return { ok: false, problem: 'hit_too_large' };
  const keys = lines.reduce((sum, line) => sum + keysOf(query) + keysOf(line), 0);
  if (keys > REQUEST_KEYS_MAX) return { ok: false, problem: 'parameters_too_many' };
  const shared = formFields(query);
  if (sharedProblem([...shared.values()], lines.length) !== null) return { ok: false, problem: 'parameters_too_many' };
  const hits = hitsOf(query, shared, lines);
  const budget = createWorkBudget();
  const isOver = areTooMany(hits.map(({ fields }) => parametersOfHit(fields, budget)));
  return isOver ? { ok: false, problem: 'parameters_too_many' } : { ok: true, hits };
}

function hitsOf(query: string, shared: ReadonlyMap<string, string>, lines: readonly string[]): Hit[] {
  if (lines.length === 0) return [{ index: 0, text: query, fields: shared }];
  return lines.map((text, index) => ({ index, text, fields: new Map([...shared, ...formFields(text)]) }));
}

/** What a form says; of a key that stands in it more than once, the last. */
function formFields(text: string): Map<string, string> {
  // Decodes gtag's %20 and bare ~ as well as the + and %7E of emitters that encode as forms do, and takes what is malformed.
  return new Map(new URLSearchParams(text));
}

/** A text that says something. */
export function textOf(fields: ReadonlyMap<string, string>, key: string): string | undefined {
  const text = fields.get(key);
  return text === undefined || text.trim() === '' ? undefined : text;
}

function isTooLarge(text: string): boolean {
  return text.length > HIT_CHARACTERS_MAX || keysOf(text) > HIT_KEYS_MAX;
}

function keysOf(text: string): number {
  let keys = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) keys += 1;
  return keys;
}

/** Names that the sender chose: GA4 takes 25 parameters and 25 user properties of an event, and 27 of an item. */
const HIT_PARAMETERS_MAX = 200;
/** Each name is looked at for what it may say of a person; so many are read in some 15 ms. */
const REQUEST_PARAMETERS_MAX = 2_000;
/** Deeper is refused where events are cleaned. */
const DEPTH_MAX = 16;

const OWN_KEY = /^(?:ep|epn|up|upn)\./;
const ITEM_KEY = /^pr\d{1,3}$/;
const ITEM_OWN_NAME = /(?:^|~)k[0-9A-Q]([^~]*)/g;

/** Whether an event or all together have more names of their own than are read. */
export function areTooMany(counts: readonly number[]): boolean {
  return (
    counts.some((count) => count > HIT_PARAMETERS_MAX) ||
    counts.reduce((sum, count) => sum + count, 0) > REQUEST_PARAMETERS_MAX
  );
}

/** How many names a hit has of its own, those in values that are JSON among them. One that comes twice counts once. */
function parametersOfHit(fields: ReadonlyMap<string, string>, budget: WorkBudget): number {
  const names = new Set<string>();
  for (const [key, value] of fields) {
    if (OWN_KEY.test(key)) {
      names.add(key);
      addNames(value, names, 0, budget);
    } else if (ITEM_KEY.test(key)) for (const [, name = ''] of value.matchAll(ITEM_OWN_NAME)) names.add(name);
  }
  return names.size;
}

/** The same of each measurement, with the user properties that its body says for all. */
export function parametersOfMeasurements(events: readonly unknown[], body: JsonObject): number[] {
  const budget = createWorkBudget();
  const shared = namesIn([body['user_properties'], body['user_data'], body['consent'], body['device']], budget);
  return events.map((event) => namesIn(isObject(event) ? objectOr(event['params']) : null, budget) + shared);
}

function namesIn(value: unknown, budget: WorkBudget): number {
  const names = new Set<string>();
  addNames(value, names, 0, budget);
  return names.size;
}

/** Ends where there are too many already, or no budget is left: then cleaning reads no more of it either. */
function addNames(value: unknown, names: Set<string>, depth: number, budget: WorkBudget): void {
  if (names.size > HIT_PARAMETERS_MAX || depth > DEPTH_MAX) return;
  const inside = typeof value === 'string' ? jsonIn(value, budget) : value;
  if (typeof inside !== 'object' || inside === null) return;
  const isList = Array.isArray(inside);
  for (const [name, member] of Object.entries(inside)) {
    if (!isList) names.add(name);
    addNames(member, names, depth + 1, budget);
    if (names.size > HIT_PARAMETERS_MAX) return;
  }
}

/**
 * Without a leading plus or zeros: that is rather a phone number or a code in the wrong field, and as a number would no
 * longer be known for one.
 */
const DECIMAL = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i;
const PARTS = /^-?(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i;
const NUMBER_CHARACTERS_MAX = 40;

/** A number where the text is one that loses nothing as such; else the text: some tag managers send `epn.x=true`. */
export function numberOr(text: string): number | string {
  if (text.length > NUMBER_CHARACTERS_MAX || !DECIMAL.test(text)) return text;
  const number = Number(text);
  const isExact = Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));
  return isExact && digitsOf(text) === digitsOf(String(number)) ? number : text;
}

/** The digits of a decimal that count, and the place of the last: equal for `1.50`, `1.5` and `15e-1`. */
function digitsOf(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  const place = Number(exponent) - fraction.length + digits.length - significant.length;
  return significant === '' ? '0' : `${significant}e${place}`;
}
