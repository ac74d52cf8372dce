import { HOUR_MS } from './notes.ts';

/** Days for which events are counted by the hour: what is usual is their median, so that a fall shows for two weeks. */
export const DAYS_KEPT = 28;
const DAY_HOURS = 24;
/** Earlier days that have to be known before anything is called usual. */
const DAYS_MIN = 3;
/** Below a fifth of a usual day a site is quiet; of fewer events chance would decide. */
const QUIET_DAY = { share: 0.2, usualMin: 20 };
/** An hour says so sooner, of sites that send enough in one. */
const QUIET_HOUR = { share: 0.1, usualMin: 50 };

/** `never`: no event yet. `new`: known for too short a time to say what is usual. */
type SiteState = 'never' | 'new' | 'receiving' | 'quiet';

/** Events in the time up to now, and in the same time of the day on a usual day; null while that is not known. */
interface Volume {
  now: number;
  usual: number | null;
}

interface SiteVolume {
  state: SiteState;
  lastHour: Volume;
  lastDay: Volume;
}

/**
 * How many events a site's browsers send, against what is usual at this time of the day.
 *
 * @param hours events by hour since 1970 UTC.
 * @param nowMs the clock, milliseconds since 1970 UTC.
 */
export function siteVolume(hours: ReadonlyMap<number, number>, nowMs: number): SiteVolume {
  const lastHour = volume(hours, nowMs, 1);
  const lastDay = volume(hours, nowMs, DAY_HOURS);
  return { state: stateOf(hours, lastHour, lastDay), lastHour, lastDay };
}

function stateOf(hours: ReadonlyMap<number, number>, lastHour: Volume, lastDay: Volume): SiteState {
  if (hours.size === 0) return 'never';
  if (lastDay.usual === null) return 'new';
  return isQuiet(lastDay, QUIET_DAY) || isQuiet(lastHour, QUIET_HOUR) ? 'quiet' : 'receiving';
}

function isQuiet({ now, usual }: Volume, { share, usualMin }: typeof QUIET_DAY): boolean {
  return usual !== null && usual >= usualMin && now < usual * share;
}

function volume(hours: ReadonlyMap<number, number>, nowMs: number, length: number): Volume {
  const hour = Math.floor(nowMs / HOUR_MS);
  const passed = nowMs / HOUR_MS - hour;
  const knownFrom = hours.size === 0 ? hour : Math.min(...hours.keys());
  const earlier: number[] = [];
  for (let day = 1; day < DAYS_KEPT; day += 1) {
    const end = hour - day * DAY_HOURS;
    if (end - length < knownFrom) break;
    // Of the hour that is now under way only the part that has passed by now.
    earlier.push(before(hours, end, length, passed) + (hours.get(end) ?? 0) * passed);
  }
  const now = before(hours, hour, length, passed) + (hours.get(hour) ?? 0);
  return { now: Math.round(now), usual: earlier.length < DAYS_MIN ? null : Math.round(median(earlier)) };
}

/** Events of the hours before an hour: whole ones, and of the first the part that is not too long ago. */
function before(hours: ReadonlyMap<number, number>, hour: number, length: number, passed: number): number {
  let sum = (hours.get(hour - length) ?? 0) * (1 - passed);
  for (let back = 1; back < length; back += 1) sum += hours.get(hour - back) ?? 0;
  return sum;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2;
}
