import { signal } from '@preact/signals';
import { digitsOf } from '#pipelines/analytics/revenue/currency_digits.ts';

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

const whole = new Intl.NumberFormat('en-GB');
const short = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 });
const decimals = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 2 });

/** A number with its thousands apart: 12,345. */
export const number = (value: number | null): string => (value === null ? '–' : decimals.format(value));
export const events = (count: number): string => `${number(count)} ${count === 1 ? 'event' : 'events'}`;
/** A whole number that is short from a hundred thousand on: 1.2M. */
export const compact = (value: number): string =>
  Math.abs(value) < 100_000 ? whole.format(value) : short.format(value);
/** A share of 1 as a percentage with one decimal. */
export const percent = (share: number | null): string =>
  share === null || !Number.isFinite(share) ? '–' : `${(share * 100).toFixed(1)}%`;

/**
 * An amount of a currency, with as many decimals as that has: none of yen, three of dinars. Strangers may have written
 * anything for it.
 */
export function money(value: number, currency: string): string {
  if (!/^[A-Z]{3}$/.test(currency)) return `${decimals.format(value)} ${currency}`.trim();
  const options = { style: 'currency', currency, currencyDisplay: 'narrowSymbol' } as const;
  const digits = digitsOf(currency);
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat('en-GB', { ...options, ...fraction }).format(value);
}

/** From here on it is read as so many times as much. */
const TIMES_MIN = 10;

interface Change {
  text: string;
  direction: 'up' | 'down' | 'same';
}

/** A change by a number whose sign stands before the text of how much that is. */
const signed = (by: number, text: string): Change =>
  by === 0
    ? { text, direction: 'same' }
    : by > 0
      ? { text: `+${text}`, direction: 'up' }
      : { text: `−${text}`, direction: 'down' };

/**
 * How a number changed against the one before, as +12.3% or 184× as much; null where that says nothing: after nothing, or a
 * loss.
 */
export function change(now: number, before: number): Change | null {
  if (before <= 0) return null;
  const times = now / before;
  if (times >= TIMES_MIN) return { text: `${compact(Math.round(times))}× as much`, direction: 'up' };
  return signed(now - before, `${((Math.abs(now - before) / before) * 100).toFixed(1)}%`);
}

/** How a share changed against the one before, in percentage points. */
export function changeInPoints(now: number, before: number): Change {
  const points = Math.round((now - before) * 1_000) / 10;
  return signed(points, `${Math.abs(points).toFixed(1)} points`);
}

const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
const MOMENT = { day: 'numeric', month: 'short', year: 'numeric', ...CLOCK } as const;
const WHOLE_DAY = { weekday: 'long', day: 'numeric', month: 'short', year: 'numeric' } as const;
const DAY = { day: 'numeric', month: 'short' } as const;
const DAY_AND_HOUR = { ...DAY, hour: '2-digit', minute: '2-digit' } as const;
const STARTS: Readonly<Record<string, Intl.DateTimeFormatOptions>> = {
  hour: DAY_AND_HOUR,
  // Those of a long period may be of several years.
  week: { ...DAY, year: 'numeric' },
  month: { month: 'short', year: 'numeric' },
};
const formats = new Map<string, Intl.DateTimeFormat>();

/** A moment as a clock in a zone shows it. */
function shown(ms: number, options: Intl.DateTimeFormatOptions, zone = timeZone()): string {
  const key = `${JSON.stringify(options)} ${zone}`;
  const format = formats.get(key) ?? new Intl.DateTimeFormat('en-GB', { ...options, timeZone: zone });
  formats.set(key, format);
  return format.format(ms);
}

export const dateTime = (ms: number): string => shown(ms, MOMENT);
export const timeOfDay = (ms: number): string => shown(ms, CLOCK);
export const wholeDay = (ms: number): string => shown(ms, WHOLE_DAY);

/** The beginning of an interval, in the zone in which the question was asked: elsewhere it may be of another day. */
export const intervalStart = (ms: number, interval: string, zone: string): string =>
  shown(ms, STARTS[interval] ?? DAY, zone);

/** The same for a spreadsheet: 2026-11-27, and with the time where intervals are shorter than a day. */
export function sortableStart(ms: number, interval: string, timeZone: string): string {
  const time = interval === 'hour' ? ({ timeStyle: 'short' } as const) : {};
  // Swedes write a date as ISO 8601 does.
  return new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', ...time, timeZone }).format(ms);
}

/** A moment for a spreadsheet: 2026-11-27 14:05:09. */
export const sortableTime = (ms: number): string =>
  new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone: timeZone() }).format(ms);

/** A time and the zone of its days: 23 Nov – 29 Nov, Europe/Berlin. */
export const rangeText = ({ from, to }: { from: number; to: number }, zone: string): string =>
  `${intervalStart(from, 'day', zone)} – ${intervalStart(to - 1, 'day', zone)}, ${zone}`;

/** What a column of dates is called in a spreadsheet, which does not know of zones. */
export const zonedTitle = (title: string, zone = timeZone()): string => `${title} (${zone})`;

const monthAndYear = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** What people call a month that is written as YYYY-MM: November 2026. */
export const monthName = (month: string): string => monthAndYear.format(Date.parse(`${month}-01`));

const UNITS = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'min' },
  { ms: 1_000, name: 's' },
] as const;

/** From here on a decimal says nothing more. */
const DECIMAL_BELOW = 10;

/** A span of time in its greatest unit, with one decimal below ten: 1.7 min. */
export function span(ms: number): string {
  const unit = UNITS.find((one) => ms >= one.ms);
  if (unit === undefined) return `${Math.round(ms)} ms`;
  const count = ms / unit.ms;
  return `${count < DECIMAL_BELOW ? Math.round(count * 10) / 10 : Math.round(count)} ${unit.name}`;
}

export const ago = (ms: number, nowMs: number): string => (nowMs - ms < 1_000 ? 'just now' : `${span(nowMs - ms)} ago`);

/**
 * A whole number as it was typed. Anything else is sent as the text it is, so that the service says what is wrong with it:
 * JSON has no NaN and writes null for it, which may well mean something.
 */
export function typedNumber(text: string): number | string {
  const typed = text.trim();
  return /^\d{1,15}$/.test(typed) ? Number(typed) : typed;
}

/** What may be a phone number: at least seven digits, and nothing that numbers are not written with. */
const PHONE = /^\+?(?:[\s()./-]*\d){7,15}$/;

/** Whether a fact leads to the people who have it. What may be an e-mail address or a phone number stays out of the address bar. */
export function isSearched(name: string, text: string): boolean {
  if (/@|%40/.test(text)) return false;
  // Shops number their orders, some with as many digits.
  return name === 'Order id' || (name === 'Distinct id' && !PHONE.test(text.trim()));
}

export const ID_CHARACTERS_MAX = 64;

/** The id that a name suggests: what of it an id may hold. */
export function idOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return plain
    .replace(/[^a-z0-9_]+/g, '-')
    .slice(0, ID_CHARACTERS_MAX)
    .replace(/^-+|-+$/g, '');
}

export function moved<Item>(list: readonly Item[], from: number, to: number): Item[] {
  const others = list.filter((_, at) => at !== from);
  return [...others.slice(0, to), ...list.slice(from, from + 1), ...others.slice(to)];
}

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
