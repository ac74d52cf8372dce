import type { Interval } from '#pipelines/analytics/question.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The first Monday of 1970. */
const MONDAY_MS = 4 * DAY_MS;

/** When the interval of a time began, in UTC. */
export function intervalStart(interval: Interval, at: number): number {
  const date = new Date(at);
  if (interval === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  if (interval === 'week') return at - ((at - MONDAY_MS) % (7 * DAY_MS));
  return at - (at % (interval === 'hour' ? HOUR_MS : DAY_MS));
}

/** Intervals from the one of a time to the one of another. */
export function intervalsBetween(interval: 'day' | 'week' | 'month', first: number, then: number): number {
  const [a, b] = [new Date(first), new Date(then)];
  if (interval === 'month') return (b.getUTCFullYear() - a.getUTCFullYear()) * 12 + b.getUTCMonth() - a.getUTCMonth();
  const lengthMs = interval === 'week' ? 7 * DAY_MS : DAY_MS;
  return (intervalStart(interval, then) - intervalStart(interval, first)) / lengthMs;
}

/** The instants that texts of the worlds and questions stand for; what is no date is NaN, which is on no side of any. */
const DAYS: Readonly<Record<string, number>> = {
  '2026-09-03': Date.UTC(2026, 8, 3),
  '2026-09-10T12:00:00+02:00': Date.UTC(2026, 8, 10, 10),
  '2026-09-10T10:00Z': Date.UTC(2026, 8, 10, 10),
  '2026-09-20 08:30:00.25': Date.UTC(2026, 8, 20, 8, 30, 0, 250),
  '2024-02-29': Date.UTC(2024, 1, 29),
};

export function dayOf(text: string): number {
  return DAYS[text] ?? Number.NaN;
}

/** When the intervals of a time begin, the first one perhaps before it. */
export function calendar(interval: Interval, { from, to }: { from: number; to: number }): number[] {
  const starts: number[] = [];
  for (let at = intervalStart(interval, from); at < to; at = intervalStart(interval, at + LONGEST_MS[interval])) {
    starts.push(at);
  }
  return starts;
}

/** From a start, a time in the interval after it. */
const LONGEST_MS: Record<Interval, number> = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 31 * DAY_MS };

/** A time some intervals earlier. */
export function earlier(interval: Interval, at: number, count: number): number {
  if (interval !== 'month') return at - count * LONGEST_MS[interval];
  const date = new Date(at);
  return date.setUTCMonth(date.getUTCMonth() - count);
}
