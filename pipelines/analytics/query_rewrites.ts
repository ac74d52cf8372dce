// Changes to a whole query before it runs, the time that it reads, and how long its answer may be cached.
import type { Condition, Filter, PersonField } from './filters.ts';

/** What is changed of a query, wherever in it that lies. */
interface Changes {
  events?(names: string[]): string[];
  /** @param before The end of the time that the condition's part of the query is about; null where it has none. */
  condition?(condition: Condition, before: number | null): Condition;
}

/** A query with its events' names and its conditions changed, those of its parts included: steps, series, exclusions, ... */
export function changedQuery<Query>(query: Query, changes: Changes, before: number | null = null): Query {
  if (Array.isArray(query)) return query.map((part) => changedQuery(part, changes, before)) as Query;
  if (typeof query !== 'object' || query === null) return query;
  const until = 'to' in query && typeof query.to === 'number' ? query.to : before;
  const parts = Object.entries(query).map(([name, part]) => [name, changedPart(name, part, changes, until)] as const);
  return Object.fromEntries(parts) as Query;
}

function changedPart(name: string, part: unknown, changes: Changes, before: number | null): unknown {
  if (name === 'events') return changes.events?.(part as string[]) ?? part;
  if (name === 'filters') return (part as Filter[]).map((filter) => changedFilter(filter, changes, before));
  return changedQuery(part, changes, before);
}

function changedFilter(filter: Filter, changes: Changes, before: number | null): Filter {
  if ('all' in filter) return { all: filter.all.map((one) => changedFilter(one, changes, before)) };
  if ('any' in filter) return { any: filter.any.map((one) => changedFilter(one, changes, before)) };
  return changes.condition?.(filter, before) ?? filter;
}

/** A condition with the name of its place in the query, such as `steps[0].filters[1].any[0]`. */
export interface PlacedCondition {
  place: string;
  condition: Condition;
}

/** The conditions of each list of filters in a query. */
export function filterLists(query: unknown, place = ''): { place: string; conditions: PlacedCondition[] }[] {
  if (typeof query !== 'object' || query === null) return [];
  return Object.entries(query).flatMap(([name, part]) => {
    const at = Array.isArray(query) ? `${place}[${name}]` : `${place}${place && '.'}${name}`;
    if (name !== 'filters') return filterLists(part, at);
    return [{ place: at, conditions: placedConditions(part as Filter[], at) }];
  });
}

function placedConditions(filters: readonly Filter[], place: string): PlacedCondition[] {
  return filters.flatMap((filter, index) => {
    const at = `${place}[${index}]`;
    if ('all' in filter) return placedConditions(filter.all, `${at}.all`);
    if ('any' in filter) return placedConditions(filter.any, `${at}.any`);
    return [{ place: at, condition: filter }];
  });
}

/**
 * A query whose conditions on persons say whose events tell a person's values: all those of the site before the end of the
 * query's time, so that the same question about the past has the same answer.
 *
 * @param since No event from before is asked about, in milliseconds.
 */
export function withPersonsOf<Query>(query: Query, siteId: string, since: number): Query {
  return changedQuery(query, { condition: (condition, before) => amongEvents(condition, { siteId, before, since }) });
}

function amongEvents(condition: Condition, among: NonNullable<PersonField['among']>): Condition {
  if (!('person' in condition.field)) return condition;
  return { ...condition, field: { ...condition.field, among } };
}

const SHA256 = /^[0-9a-f]{64}$/i;

/**
 * A query that looks for phone numbers by their keyed hashes, as rows have them, where whoever asks has named the SHA-256 of
 * the E.164 form: nobody but the service has the key.
 *
 * @param hmacsOf The keyed hashes of a number that rows may have: one for each key there was.
 */
export function withPhoneHmacs<Query>(query: Query, hmacsOf: (sha256: string) => readonly string[]): Query {
  const keyed = (value: string | number | boolean): readonly (string | number | boolean)[] =>
    typeof value === 'string' && SHA256.test(value) ? hmacsOf(value.toLowerCase()) : [value];
  return changedQuery(query, {
    condition: (condition) =>
      isOfPhone(condition) && Array.isArray(condition.to)
        ? ({ ...condition, to: condition.to.flatMap(keyed) } as Condition)
        : condition,
  });
}

function isOfPhone(condition: Condition): condition is Extract<Condition, { is: 'equal' | 'not_equal' }> {
  const field = 'person' in condition.field ? condition.field.person : condition.field;
  return 'column' in field && field.column === 'phone_hmac';
}

interface TimeRead {
  from: number;
  to: number;
}

interface Asked extends TimeRead {
  mode?: string;
  compare?: string;
  breakdown?: { lookback_ms?: number };
}

/** The time whose events a query reads, which may begin before the one it is about; null where it has none. */
export function timeRead(query: object): TimeRead | null {
  const asked = timedPart(query);
  if (asked === null) return null;
  return looksAtPersons(query) ? sinceEver(asked) : timeAskedAbout(asked);
}

/** The same but for what it reads to know the values of persons. */
function timeAskedAbout({ from, to, mode, compare, breakdown }: Asked): TimeRead {
  if (mode === 'first_ever') return { from: 0, to };
  const length = to - from;
  return { from: Math.max(0, from - (compare === undefined ? 0 : length) - (breakdown?.lookback_ms ?? 0)), to };
}

const DAY_MS = 86_400_000;

/**
 * A time before which no event is that a query asks about, be it for the time before its own; 0 where it has none. The time
 * before is as many intervals earlier by the calendar: of months these may be a tenth longer, and two more are touched.
 */
export function queriedSince(query: object): number {
  const asked = timedPart(query);
  if (asked === null) return 0;
  const { from, to, compare } = asked;
  const longer = compare === undefined ? 0 : 0.11 * (to - from) + 62 * DAY_MS;
  return Math.max(0, Math.floor(timeAskedAbout(asked).from - longer));
}

/** All there is until the end of a query's time. */
export const sinceEver = ({ to }: Pick<TimeRead, 'to'>): TimeRead => ({ from: 0, to });

/** The part of a query that has a time: itself, or the chart that it lists a part of. */
function timedPart(query: object): Asked | null {
  if ('from' in query && 'to' in query) return query as Asked;
  for (const part of Object.values(query)) {
    const asked = typeof part === 'object' && part !== null && !Array.isArray(part) ? timedPart(part) : null;
    if (asked !== null) return asked;
  }
  return null;
}

/** Values of persons are looked for among all of their events. */
const looksAtPersons = (query: object): boolean =>
  filterLists(query).some(({ conditions }) => conditions.some(({ condition }) => 'person' in condition.field));

/**
 * How long an answer may be kept. Late events and merges change the past too, but seldom: what ended a week ago is kept for
 * ten minutes, what ended a day ago for one, and what still goes on for five seconds.
 */
export function cacheTtlMs(toMs: number, nowMs: number): number {
  if (toMs <= nowMs - 7 * DAY_MS) return 600_000;
  return toMs <= nowMs - DAY_MS ? 60_000 : 5_000;
}
