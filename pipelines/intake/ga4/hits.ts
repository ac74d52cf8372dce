import { allowEffort } from '#pipelines/privacy/effort.ts';
import { areTooMany, parametersOfHit } from './parameter_limits.ts';

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
export type HitsRead = { ok: true; hits: Hit[] } | { ok: false; problem: HitsProblem };

/** As many as a request of ours may hold; gtag closes a batch at 20. */
export const HITS_MAX = 50;
/** gtag closes a batch at 16,384 bytes; a beacon holds up to 64 KiB. */
export const HIT_CHARACTERS_MAX = 64 * 1024;
/** 200 items, and parameters many times over GA4's limit of 25. */
export const HIT_KEYS_MAX = 1_000;
/** Of all hits together, those of the query counted for each: 50 hits with 100 keys. */
const REQUEST_KEYS_MAX = 5_000;

/**
 * The hits of a request to /g/collect (FACTS section 4): the query alone, or as many as the body has lines, which are
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
  const hits = hitsOf(query, lines);
  const effort = allowEffort();
  const isOver = areTooMany(hits.map(({ fields }) => parametersOfHit(fields, effort)));
  return isOver ? { ok: false, problem: 'parameters_too_many' } : { ok: true, hits };
}

function hitsOf(query: string, lines: readonly string[]): Hit[] {
  const shared = formFields(query);
  if (lines.length === 0) return [{ index: 0, text: query, fields: shared }];
  return lines.map((text, index) => ({ index, text, fields: new Map([...shared, ...formFields(text)]) }));
}

/** What a form says; of a key that stands in it more than once, the last. */
function formFields(text: string): Map<string, string> {
  // Decodes gtag's %20 and bare ~ as well as the + and %7E of emitters that encode as forms do, and takes what is malformed.
  return new Map(new URLSearchParams(text));
}

function isTooLarge(text: string): boolean {
  return text.length > HIT_CHARACTERS_MAX || keysOf(text) > HIT_KEYS_MAX;
}

function keysOf(text: string): number {
  let keys = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) keys += 1;
  return keys;
}
