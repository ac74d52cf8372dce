import type { Interval } from '#pipelines/analytics/question.ts';
import { earlier, intervalStart } from './calendar.ts';

const HOUR_MS = 3_600_000;

const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** How far the clocks of a zone are ahead of UTC at a time, in milliseconds. */
function aheadMs(zone: string, at: number): number {
  const format =
    FORMATS.get(zone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  FORMATS.set(zone, format);
  return Date.parse(`${format.format(at).replace(' ', 'T')}Z`) - (at - (((at % 1_000) + 1_000) % 1_000));
}

const toClock = (zone: string, at: number): number => at + aheadMs(zone, at);

/** The first time at which the clocks of a zone show something. */
function fromClock(zone: string, shown: number): number {
  const tried = [-24, 0, 24].map((hours) => shown - aheadMs(zone, shown + hours * HOUR_MS));
  return Math.min(...tried.filter((at) => toClock(zone, at) === shown));
}

/** When the interval of a time began by the clocks of a zone. */
export function zonedStart(zone: string, interval: Interval, at: number): number {
  if (interval === 'hour') return at - (toClock(zone, at) % HOUR_MS);
  return fromClock(zone, intervalStart(interval, toClock(zone, at)));
}

/** The starts of all intervals of a time. */
export function zonedCalendar(zone: string, interval: Interval, { from, to }: { from: number; to: number }): number[] {
  const starts = new Set<number>();
  for (let at = from; at < to; at += HOUR_MS / 2) starts.add(zonedStart(zone, interval, at));
  return [...starts.add(zonedStart(zone, interval, to - 1))].sort((a, b) => a - b);
}

/** A time some intervals earlier by the clocks of a zone. */
export function zonedEarlier(zone: string, interval: Interval, at: number, count: number): number {
  if (interval === 'hour') return at - count * HOUR_MS;
  return fromClock(zone, earlier(interval, toClock(zone, at), count));
}
