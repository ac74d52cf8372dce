import type { Site } from '#schemas/setting.ts';

/** Days on which weeks may begin. */
export const WEEK_STARTS = ['monday', 'saturday', 'sunday'] as const;

/** By which days and weeks time is counted. */
export interface Calendar {
  /** IANA name. */
  timeZone: string;
  weekStart: (typeof WEEK_STARTS)[number];
}

/** That of whoever says nothing of it: weeks as in ISO 8601. */
export const DEFAULT_CALENDAR: Calendar = { timeZone: 'UTC', weekStart: 'monday' };

/** That of a site. */
export const calendarOf = ({ time_zone, week_start }: Pick<Site, 'time_zone' | 'week_start'>): Calendar => ({
  timeZone: time_zone ?? DEFAULT_CALENDAR.timeZone,
  weekStart: WEEK_STARTS.find((day) => day === week_start) ?? DEFAULT_CALENDAR.weekStart,
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
