import { signal } from '@preact/signals';
import { type Calendar, intervalName, momentIn, offsetAt } from '#pipelines/settings/calendar.ts';
import { readStored, writeStored } from './browser_storage.ts';
import { timeZone } from './format.ts';

/** A time that is looked at: from, inclusive, to, exclusive, in milliseconds since 1970 UTC. */
export interface Period {
  from: number;
  to: number;
  interval: 'hour' | 'day' | 'week' | 'month';
  label: string;
  /** What stands in the query of the address; null where it is the usual one. */
  name: string | null;
  /** First and last day, as an input of dates takes them. */
  firstDay: string;
  lastDay: string;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MINUTE_MS = 60_000;
/** Longest time that is drawn by hour, by day and by week. */
const BY_HOUR_MAX = 2 * DAY_MS;
const BY_DAY_MAX = 100 * DAY_MS;
const BY_WEEK_MAX = 400 * DAY_MS;

/** A period that is told by what time it is. Without `to` it ends now. */
interface Preset {
  name: string;
  label: string;
  from(nowMs: number): number;
  to?(nowMs: number): number;
}

/** Periods that have a name of their own, in the order in which they are offered. */
export const PRESETS: readonly Preset[] = [
  { name: 'today', label: 'Today', from: lastDays(1) },
  { name: 'yesterday', label: 'Yesterday', from: lastDays(2), to: lastDays(1) },
  { name: '24h', label: 'Last 24 hours', from: (nowMs) => startOfHour(nextMinute(nowMs) - DAY_MS) },
  { name: '7d', label: 'Last 7 days', from: lastDays(7) },
  { name: '30d', label: 'Last 30 days', from: lastDays(30) },
  { name: 'month', label: 'This month', from: startOfMonth(0) },
  { name: 'last_month', label: 'Last month', from: startOfMonth(-1), to: startOfMonth(0) },
  { name: '90d', label: 'Last 90 days', from: lastDays(90) },
  { name: '12mo', label: 'Last 365 days', from: lastDays(365) },
];
const USUAL = '7d';

/**
 * The period that an address asks for. It ends with the minute that is under way, so that what just came counts and
 * equal questions of a minute share an answer. Days begin in the zone of the site.
 */
export function readPeriod(query: URLSearchParams, nowMs: number): Period {
  const own = ownPeriod(query.get('from'), query.get('to'));
  if (own !== null) return own;
  const name = query.get('period');
  const preset = PRESETS.find((one) => one.name === name) ?? PRESETS.find((one) => one.name === USUAL);
  if (preset === undefined) throw new Error('there is no usual period');
  const from = preset.from(nowMs);
  const to = preset.to?.(nowMs) ?? nextMinute(nowMs);
  return {
    ...{ from, to, label: preset.label, interval: intervalOf(to - from) },
    name: preset.name === USUAL ? null : preset.name,
    firstDay: dayOf(from),
    lastDay: dayOf(preset.to === undefined ? nowMs : to - 1),
  };
}

const nextMinute = (ms: number): number => Math.floor(ms / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
const startOfHour = (ms: number): number => Math.floor(ms / HOUR_MS) * HOUR_MS;

/** The start of so many days, of which today is the last. */
function lastDays(days: number): (nowMs: number) => number {
  return (nowMs) => startOfDay(nowMs, 1 - days);
}

/** The start of a month so many later than this one. */
function startOfMonth(later: number): (nowMs: number) => number {
  return (nowMs) => {
    const [year, month] = dayIn(timeZone(), nowMs);
    return dayStart(timeZone(), year, month + later, 1);
  };
}

function ownPeriod(first: string | null, last: string | null): Period | null {
  const [from, to] = [dayStartOf(first), dayStartOf(last)];
  if (first === null || last === null || from === null || to === null || to < from) return null;
  const end = startOfDay(to, 1);
  const label = first === last ? shownDay(from) : `${shownDay(from)} – ${shownDay(to)}`;
  return { from, to: end, interval: intervalOf(end - from), label, name: null, firstDay: first, lastDay: last };
}

/** When a day begins that an input of dates names; null where it names none. */
export function dayStartOf(day: string | null): number | null {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day ?? '');
  if (parts === null || Number.isNaN(Date.parse(`${day}T00:00:00Z`))) return null;
  return dayStart(timeZone(), Number(parts[1]), Number(parts[2]) - 1, Number(parts[3]));
}

/** When such a day is over. */
export function dayEnd(day: string | null): number | null {
  const start = dayStartOf(day);
  return start === null ? null : startOfDay(start, 1);
}

/** The start of a day some days later, of as many hours as it may have. */
function startOfDay(ms: number, daysLater: number): number {
  const [year, month, day] = dayIn(timeZone(), ms);
  return dayStart(timeZone(), year, month, day + daysLater);
}

function intervalOf(ms: number): Period['interval'] {
  if (ms <= BY_HOUR_MAX) return 'hour';
  if (ms <= BY_DAY_MAX) return 'day';
  return ms <= BY_WEEK_MAX ? 'week' : 'month';
}

function dayOf(ms: number): string {
  const [year, month, day] = dayIn(timeZone(), ms);
  return new Date(Date.UTC(year, month, day)).toISOString().slice(0, 10);
}

const shownDay = (ms: number): string =>
  new Date(ms).toLocaleDateString('en-GB', {
    ...{ day: 'numeric', month: 'short', year: 'numeric' },
    timeZone: timeZone(),
  });

/** Parameters that say of which time a page is; they go along from page to page. */
const PARAMETERS = ['period', 'from', 'to'] as const;
const KEY = 'svc_period';

/** The period that was chosen last in this tab, as parameters of an address; empty where it is the usual one. */
export const storedPeriod = signal(periodIn(new URLSearchParams(readStored(() => sessionStorage, KEY) ?? '')));

/** The parameters of a query that say of which time a page is. */
export function periodIn(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams(PARAMETERS.flatMap((name) => (query.has(name) ? [[name, query.get(name) ?? '']] : [])));
}

/** Some parameters, with the period that was chosen last. */
export const withPeriod = (query: URLSearchParams): URLSearchParams =>
  new URLSearchParams([...storedPeriod.value, ...query]);

/** Keeps a period, as parameters, for the pages to come in this tab. */
export function storePeriod(given: URLSearchParams): void {
  storedPeriod.value = given;
  writeStored(() => sessionStorage, KEY, given.toString());
}

/** When a day begins in a zone; one beyond the month's last is of the next month, and months likewise of the next year. */
export const dayStart = (timeZone: string, year: number, month: number, day: number): number =>
  momentIn(timeZone, Date.UTC(year, month, day));

/** When an interval so many later begins than one that begins at `start`. */
export function laterStart(start: number, interval: Period['interval'], count: number, timeZone: string): number {
  if (interval === 'hour') return start + count * HOUR_MS;
  const [year, month, day] = dayIn(timeZone, start);
  if (interval === 'month') return dayStart(timeZone, year, month + count, 1);
  return dayStart(timeZone, year, month, day + count * (interval === 'week' ? 7 : 1));
}

/**
 * The time before a period, of as many intervals, by the clock of a zone: what the API compares with as `previous`. A period that ends
 * within its interval is compared with as much of the one before.
 */
export function periodBefore(
  { from, to, interval }: Pick<Period, 'from' | 'to' | 'interval'>,
  calendar: Calendar,
): { from: number; to: number } {
  const { timeZone } = calendar;
  const shows = (ms: number): number => ms + offsetAt(ms, timeZone);
  const [first = '', last = ''] = [from, to - 1].map((ms) => intervalName(ms, interval, calendar));
  if (interval === 'hour') {
    const hours = 1 + Math.floor(shows(to - 1) / HOUR_MS) - Math.floor(shows(from) / HOUR_MS);
    return { from: from - hours * HOUR_MS, to: to - hours * HOUR_MS };
  }
  if (interval === 'month') {
    const count = 1 + monthOf(last) - monthOf(first);
    const earlier = (ms: number): number => {
      const [year, month, day] = dayIn(timeZone, ms);
      const longest = new Date(Date.UTC(year, month - count + 1, 0)).getUTCDate();
      return momentIn(timeZone, Date.UTC(year, month - count, Math.min(day, longest)) + (shows(ms) % DAY_MS));
    };
    return { from: earlier(from), to: earlier(to) };
  }
  const days = (1 + Number(last) - Number(first)) * (interval === 'week' ? 7 : 1);
  const earlier = (ms: number): number => momentIn(timeZone, shows(ms) - days * DAY_MS);
  return { from: earlier(from), to: earlier(to) };
}

/** Months since the year 0 of one that is written as YYYY-MM. */
const monthOf = (name: string): number => Number(name.slice(0, 4)) * 12 + Number(name.slice(5));

/** The year, month (from 0) and day that a calendar in a zone shows at a moment. */
export function dayIn(timeZone: string, ms: number): [year: number, month: number, day: number] {
  const shown = new Date(ms + offsetAt(ms, timeZone));
  return [shown.getUTCFullYear(), shown.getUTCMonth(), shown.getUTCDate()];
}
