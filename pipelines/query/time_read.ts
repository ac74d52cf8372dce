import { filterLists } from './walk_query.ts';

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
  const asked = askedOf(query);
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
export function askedSince(query: object): number {
  const asked = askedOf(query);
  if (asked === null) return 0;
  const { from, to, compare } = asked;
  const longer = compare === undefined ? 0 : 0.11 * (to - from) + 62 * DAY_MS;
  return Math.max(0, Math.floor(timeAskedAbout(asked).from - longer));
}

/** All there is until the end of a query's time. */
export const sinceEver = ({ to }: Pick<TimeRead, 'to'>): TimeRead => ({ from: 0, to });

/** The part of a query that has a time: itself, or the chart that it lists a part of. */
function askedOf(query: object): Asked | null {
  if ('from' in query && 'to' in query) return query as Asked;
  for (const part of Object.values(query)) {
    const asked = typeof part === 'object' && part !== null && !Array.isArray(part) ? askedOf(part) : null;
    if (asked !== null) return asked;
  }
  return null;
}

/** Values of persons are looked for among all of their events. */
const looksAtPersons = (query: object): boolean =>
  filterLists(query).some(({ conditions }) => conditions.some(({ condition }) => 'person' in condition.field));
