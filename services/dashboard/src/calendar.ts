import { signal } from '@preact/signals';

/** As the API takes it. */
interface QueryCalendar {
  time_zone: string;
  week_start: 'monday' | 'saturday' | 'sunday';
}

/** The zone of a site, or of a query, that names none. */
export const API_ZONE = 'UTC';

/** By what the page counts: its site's calendar; null on pages that are of no site. */
export const pageCalendar = signal<QueryCalendar | null>(null);

/** The zone in which days begin: that of the site, or of whoever looks. */
export const timeZone = (): string => pageCalendar.value?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;

/** By which calendar a query's intervals are. */
export const queryCalendar = (): QueryCalendar => pageCalendar.value ?? { time_zone: timeZone(), week_start: 'monday' };
