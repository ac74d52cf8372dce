import { isObject, objectOr } from '#pipelines/intake/compat/foreign.ts';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { allowEffort, type Effort } from '#pipelines/privacy/effort.ts';
import { jsonIn } from '#pipelines/privacy/json_text.ts';

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
export function parametersOfHit(fields: ReadonlyMap<string, string>, effort: Effort): number {
  const names = new Set<string>();
  for (const [key, value] of fields) {
    if (OWN_KEY.test(key)) {
      names.add(key);
      addNames(value, names, 0, effort);
    } else if (ITEM_KEY.test(key)) for (const [, name = ''] of value.matchAll(ITEM_OWN_NAME)) names.add(name);
  }
  return names.size;
}

/** The same of each measurement, with the user properties that its body says for all. */
export function parametersOfMeasurements(events: readonly unknown[], body: JsonObject): number[] {
  const effort = allowEffort();
  const shared = namesIn([body['user_properties'], body['user_data'], body['consent'], body['device']], effort);
  return events.map((event) => namesIn(isObject(event) ? objectOr(event['params']) : null, effort) + shared);
}

function namesIn(value: unknown, effort: Effort): number {
  const names = new Set<string>();
  addNames(value, names, 0, effort);
  return names.size;
}

/** Ends where there are too many already, or no effort is left: then cleaning reads no more of it either. */
function addNames(value: unknown, names: Set<string>, depth: number, effort: Effort): void {
  if (names.size > HIT_PARAMETERS_MAX || depth > DEPTH_MAX) return;
  const inside = typeof value === 'string' ? jsonIn(value, effort) : value;
  if (typeof inside !== 'object' || inside === null) return;
  const isList = Array.isArray(inside);
  for (const [name, member] of Object.entries(inside)) {
    if (!isList) names.add(name);
    addNames(member, names, depth + 1, effort);
    if (names.size > HIT_PARAMETERS_MAX) return;
  }
}
