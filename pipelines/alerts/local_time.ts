// Times as the clocks of a zone show them.

import type { Interval } from '#pipelines/analytics/question.ts';
import { type Calendar, wallMs } from '#pipelines/settings/calendar.ts';

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

/** Whether a time lies in hours such as 22:00 to 07:00, of which the end is not part; from and to the same: all day. */
export function isWithin(timeMs: number, { from, to }: { from: string; to: string }, timeZone: string): boolean {
  const now = new Date(wallMs(timeMs, timeZone)).toISOString().slice(11, 16);
  return from < to ? from <= now && now < to : now >= from || now < to;
}

/** A time as people write it, in a zone: `2027-03-01 14:00`. */
export const localText = (timeMs: number, timeZone: string): string =>
  new Date(wallMs(timeMs, timeZone)).toISOString().slice(0, 16).replace('T', ' ');
