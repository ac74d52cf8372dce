// Changes to a whole query before it runs, the time that it reads, and how long its answer may be cached.

import type { Calendar } from '#pipelines/settings/calendar.ts';
import type { PageRules } from '#schemas/setting.ts';
import type { Condition, Filter } from './filters.ts';
import { isPageAddress } from './pages/page_sql.ts';

/** Where in a query a condition is. */
interface ConditionPlace {
  /** Its list of filters, such as `steps[0].filters`. */
  list: string;
  /** Itself, such as `steps[0].filters[1].any[0]`. */
  place: string;
  /** The end of the time that its part of the query is about; null where it has none. */
  before: number | null;
}

/** What is changed of a query, wherever in it that lies. */
interface Changes {
  events?(names: string[]): string[];
  condition?(condition: Condition, at: ConditionPlace): Condition;
}

/** A query with its events' names and its conditions changed, those of its parts included: steps, series, exclusions, ... */
export function changedQuery<Query>(query: Query, changes: Changes): Query {
  return changedPart(query, changes, '', null) as Query;
}

function changedPart(part: unknown, changes: Changes, at: string, before: number | null): unknown {
  if (Array.isArray(part)) return part.map((one, index) => changedPart(one, changes, `${at}[${index}]`, before));
  if (typeof part !== 'object' || part === null) return part;
  const until = 'to' in part && typeof part.to === 'number' ? part.to : before;
  const changed = ([name, inner]: [string, unknown]): unknown => {
    const place = `${at}${at && '.'}${name}`;
    if (name === 'events') return changes.events?.(inner as string[]) ?? inner;
    if (name !== 'filters') return changedPart(inner, changes, place, until);
    return changedFilters(inner as Filter[], changes, { list: place, place, before: until });
  };
  return Object.fromEntries(Object.entries(part).map((entry) => [entry[0], changed(entry)]));
}

function changedFilters(filters: readonly Filter[], changes: Changes, at: ConditionPlace): Filter[] {
  return filters.map((filter, index) => {
    const place = `${at.place}[${index}]`;
    if ('all' in filter) return { all: changedFilters(filter.all, changes, { ...at, place: `${place}.all` }) };
    if ('any' in filter) return { any: changedFilters(filter.any, changes, { ...at, place: `${place}.any` }) };
    return changes.condition?.(filter, { ...at, place }) ?? filter;
  });
}

export type PlacedCondition = ConditionPlace & { condition: Condition };

/** Every condition of a query, with its place. */
export function conditionsOf(query: unknown): PlacedCondition[] {
  const found: PlacedCondition[] = [];
  changedQuery(query, {
    condition(condition, at) {
      found.push({ ...at, condition });
      return condition;
    },
  });
  return found;
}

/** The different values of visits and persons that a query names, as texts: each is made of many events. */
export function joinedValues(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return [];
  if ('visit' in part || ('person' in part && 'seen' in part)) return [JSON.stringify(part)];
  return [...new Set(Object.values(part).flatMap(joinedValues))];
}

/** Every field of a query, wherever it lies in it, may be another. */
function changedFields(
  part: unknown,
  before: number | null,
  change: (field: object, before: number | null) => object,
): unknown {
  if (Array.isArray(part)) return part.map((one) => changedFields(one, before, change));
  if (typeof part !== 'object' || part === null) return part;
  const until = 'from' in part && 'to' in part && typeof part.to === 'number' ? part.to : before;
  const changed = Object.entries(part).map(([name, inner]) => [name, changedFields(inner, until, change)]);
  return change(Object.fromEntries(changed) as object, until);
}

const DAY_MS = 86_400_000;
/** What arrives later than so long after it happened is shown without its visit. */
const ARRIVING_MS = 2 * DAY_MS;

/**
 * A query whose conditions on persons say whose events tell a person's values: all those of the site before the end of the
 * query's time, so that the same question about the past has the same answer.
 *
 * @param since No event from before is asked about, in milliseconds.
 * @param nowMs Up to when visits are looked for where the query has no time, as of what arrives now; and of events of how long before.
 */
export function withPersonsOf<Query>(query: Query, siteId: string, since: number, nowMs = 0): Query {
  const arriving = { since: Math.max(0, nowMs - ARRIVING_MS), before: nowMs };
  return changedFields(query, null, (field, before) => {
    if ('visit' in field) return { ...field, among: { siteId, ...(before === null ? arriving : { since, before }) } };
    return 'person' in field && 'seen' in field ? { ...field, among: { siteId, before, since } } : field;
  }) as Query;
}

/** A query whose fields that are a page of the site, or begin or end a visit with one, say by which rules. */
export function withPagesOf<Query>(query: Query, pages: PageRules | null): Query {
  if (pages === null) return query;
  return changedFields(query, null, (field) => {
    const isOfVisit = 'visit' in field && (field.visit === 'landing_page' || field.visit === 'exit_page');
    const isPage = 'part' in field && field.part === 'page' && 'property' in field;
    return isOfVisit || (isPage && isPageAddress(field.property as string[])) ? { ...field, pages } : field;
  }) as Query;
}

/** A query whose intervals say by which calendar they are, where they do not: by that of the site. */
export function withCalendar<Query>(query: Query, calendar: Calendar): Query {
  if (Array.isArray(query)) return query.map((part) => withCalendar(part, calendar)) as Query;
  if (typeof query !== 'object' || query === null) return query;
  const parts = Object.entries(query).map(([name, part]) => [name, withCalendar(part, calendar)]);
  const ofSite = 'interval' in query ? { time_zone: calendar.timeZone, week_start: calendar.weekStart } : {};
  return { ...ofSite, ...Object.fromEntries(parts) };
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

interface TimedQuery extends TimeRead {
  fresh?: boolean;
  mode?: string;
  compare?: 'previous' | 'year' | { days: number };
  breakdown?: { lookback_ms?: number };
}

/** The time whose events a query reads, which may begin before the one it is about; null where it has none. */
export function timeRead(query: object): TimeRead | null {
  const timed = timedPart(query);
  if (timed === null) return null;
  return looksAtPersons(query) ? sinceEver(timed) : timeAskedAbout(timed);
}

/** The same but for what it reads to know the values of persons. */
function timeAskedAbout(timed: TimedQuery): TimeRead {
  const { from, to, mode, breakdown } = timed;
  if (mode === 'first_ever') return { from: 0, to };
  return { from: Math.max(0, from - earlierMs(timed) - (breakdown?.lookback_ms ?? 0)), to };
}

/** A year has that at the most, weeks are whole, and clocks may change. */
const YEAR_MS_MAX = 367 * DAY_MS;
const WEEK_MS = 7 * DAY_MS;

function earlierMs({ from, to, compare }: TimedQuery): number {
  if (compare === undefined) return 0;
  if (compare === 'previous') return to - from;
  return compare === 'year' ? YEAR_MS_MAX : compare.days * DAY_MS + WEEK_MS;
}

/**
 * A time before which no event is that a query asks about, be it for the time before its own; 0 where it has none. The time
 * before is as many intervals earlier by the calendar: of months these may be a tenth longer, and two more are touched.
 */
export function queriedSince(query: object): number {
  const timed = timedPart(query);
  if (timed === null) return 0;
  const { from, to, compare } = timed;
  const longer = compare === undefined ? 0 : 0.11 * (to - from) + 62 * DAY_MS;
  return Math.max(0, Math.floor(timeAskedAbout(timed).from - longer));
}

/** All there is until the end of a query's time. */
export const sinceEver = ({ to }: Pick<TimeRead, 'to'>): TimeRead => ({ from: 0, to });

/** The part of a query that has a time: itself, or the chart that it lists a part of. */
function timedPart(query: object): TimedQuery | null {
  if ('from' in query && 'to' in query) return query as TimedQuery;
  for (const part of Object.values(query)) {
    const timed = typeof part === 'object' && part !== null && !Array.isArray(part) ? timedPart(part) : null;
    if (timed !== null) return timed;
  }
  return null;
}

/** Values of persons are looked for among all of their events. */
const looksAtPersons = (query: object): boolean =>
  conditionsOf(query).some(({ condition }) => 'person' in condition.field);

/** A question without a time is about what arrived just now. */
const WITHOUT_TIME_MS = 1_000;

/**
 * How long an answer may be cached. Late events and merges change the past too, but seldom: what ended a week ago is cached
 * for ten minutes, what ended a day ago for one, and what still goes on for five seconds.
 *
 * @param isOfCohorts Cohorts are as they are now, whatever time is asked about.
 */
export function cacheTtlMs(query: object, nowMs: number, isOfCohorts: boolean): number {
  const timed = timedPart(query);
  if (timed === null) return WITHOUT_TIME_MS;
  const { to, fresh } = timed;
  if (fresh === true) return 0;
  if (isOfCohorts) return 5_000;
  if (to <= nowMs - 7 * DAY_MS) return 600_000;
  return to <= nowMs - DAY_MS ? 60_000 : 5_000;
}
