import type { Interval } from '#pipelines/analytics/question.ts';

/** Days on which weeks may begin. */
export const WEEK_STARTS = ['monday', 'saturday', 'sunday'] as const;

/** By which days and weeks time is counted. */
export interface Calendar {
  /** IANA name. */
  timeZone: string;
  weekStart: (typeof WEEK_STARTS)[number];
}

/** What a site, or a query, says of its calendar; a newer service may know other days. */
export interface SaysCalendar {
  time_zone?: string | null;
  week_start?: string | null;
}

export const calendarOf = ({ time_zone, week_start }: SaysCalendar): Calendar => ({
  timeZone: time_zone ?? 'UTC',
  weekStart: WEEK_STARTS.find((day) => day === week_start) ?? 'monday',
});

/**
 * Whether a zone is known by its IANA name, written as the database of zones writes it: ClickHouse takes it in no other case,
 * and no offset such as +01:00.
 */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Z]/.test(name)) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    // An alias is answered by another name.
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase();
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

const formats = new Map<string, Intl.DateTimeFormat>();
/** Sites have few zones; made again where there are many, as one takes a tenth of a millisecond. */
const FORMATS_MAX = 200;

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  if (formats.size >= FORMATS_MAX) formats.clear();
  const parts = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;
  const format = new Intl.DateTimeFormat('en-US', { ...parts, second: 'numeric', hourCycle: 'h23', timeZone });
  formats.set(timeZone, format);
  return format;
}

/** What the clocks of a zone show at a time, as if they showed UTC, in milliseconds since 1970. */
export function wallMs(timeMs: number, timeZone: string): number {
  const parts = formatOf(timeZone).formatToParts(timeMs);
  const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
}

/** By how much clocks in a zone are ahead of UTC at a moment. */
export const offsetAt = (ms: number, timeZone: string): number => wallMs(ms, timeZone) - Math.floor(ms / 1000) * 1000;

/** When clocks in a zone show what those in UTC show at a moment; what they leave out, as midnight in Chile, by the time before. */
export function momentIn(timeZone: string, shown: number): number {
  const nearly = shown - offsetAt(shown, timeZone);
  // Clocks may have been changed between the two.
  const moment = shown - offsetAt(nearly, timeZone);
  return Math.max(moment, shown - offsetAt(moment, timeZone));
}

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** 1 January 1970 was a Thursday: days from the beginning of its week to it. */
const DAYS_INTO_WEEK = { monday: 3, saturday: 5, sunday: 4 } as const;

/** Names the interval that a time lies in: another one has another name. */
export function intervalName(timeMs: number, interval: Interval, { timeZone, weekStart }: Calendar): string {
  const wall = wallMs(timeMs, timeZone);
  // Where clocks are set back an hour is shown twice.
  if (interval === 'hour') return `${Math.floor(wall / HOUR_MS)} ${Math.round((wall - timeMs) / 60_000)}`;
  if (interval === 'month') return new Date(wall).toISOString().slice(0, 7);
  const day = Math.floor(wall / DAY_MS);
  return String(interval === 'day' ? day : Math.floor((day + DAYS_INTO_WEEK[weekStart]) / 7));
}

/** When an interval begins: the one in which a time lies, or one so many later. */
export function intervalStart(timeMs: number, interval: Interval, calendar: Calendar, later = 0): number {
  const { timeZone, weekStart } = calendar;
  const shown = timeMs + offsetAt(timeMs, timeZone);
  if (interval === 'hour') return timeMs - (shown % HOUR_MS) + later * HOUR_MS;
  if (interval === 'month') {
    const date = new Date(shown);
    return momentIn(timeZone, Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1));
  }
  const day = Math.floor(shown / DAY_MS);
  const into = interval === 'day' ? 0 : (day + DAYS_INTO_WEEK[weekStart]) % 7;
  return momentIn(timeZone, (day - into + later * (interval === 'day' ? 1 : 7)) * DAY_MS);
}

/** Whether a time lies in hours such as 22:00 to 07:00, of which the end is not part; from and to the same: all day. */
export function isWithin(timeMs: number, { from, to }: { from: string; to: string }, timeZone: string): boolean {
  const now = new Date(wallMs(timeMs, timeZone)).toISOString().slice(11, 16);
  return from < to ? from <= now && now < to : now >= from || now < to;
}

/** A time as people write it, in a zone: `2027-03-01 14:00`. */
export const localText = (timeMs: number, timeZone: string): string =>
  new Date(wallMs(timeMs, timeZone)).toISOString().slice(0, 16).replace('T', ' ');
