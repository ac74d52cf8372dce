// Times and amounts as tills, spreadsheets and people write them: times in a zone that somebody has stated, amounts with a decimal comma
// or point, thousands in groups, a currency beside them.

/**
 * How times are written: `auto` reads what can be read in one way only; `dmy` and `mdy` say what `03/04/2026` is, and take years
 * of two digits; the others are numbers: seconds or milliseconds since 1970 UTC, days of a spreadsheet since 1900.
 */
export const DATE_FORMS = ['auto', 'dmy', 'mdy', 'epoch_s', 'epoch_ms', 'excel'] as const;
export type DateForm = (typeof DATE_FORMS)[number];

export type TimeProblem = 'time_unreadable' | 'date_ambiguous' | 'zone_missing' | 'time_skipped' | 'time_repeated';

export type ReadTime = { ok: true; timeMs: number } | { ok: false; problem: TimeProblem };

/** How far the clocks of a zone are ahead of UTC at a moment, in milliseconds. */
export type ZoneOffset = (zone: string, atMs: number) => number;

const CACHED_OFFSETS_MAX = 5_000;
const QUARTER_MS = 900_000;
const DAY_MS = 86_400_000;

/** Offsets by ICU, remembered for a quarter of an hour each. @throws RangeError for a zone that there is none of */
export function createZoneOffsets(): ZoneOffset {
  const formats = new Map<string, Intl.DateTimeFormat>();
  const cached = new Map<string, number>();
  return (zone, atMs) => {
    const quarter = Math.floor(atMs / QUARTER_MS);
    const name = `${zone} ${quarter}`;
    const known = cached.get(name);
    if (known !== undefined) return known;
    let format = formats.get(zone);
    if (format === undefined) {
      format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
      formats.set(zone, format);
    }
    const text = format.formatToParts(quarter * QUARTER_MS).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const offsetMs = offsetOf(text.replace('GMT', '')) ?? 0;
    if (cached.size >= CACHED_OFFSETS_MAX) cached.clear();
    cached.set(name, offsetMs);
    return offsetMs;
  };
}

/** `+01:00`, `+0100`, `+01`, with seconds too; null for anything else. */
function offsetOf(text: string): number | null {
  const [, sign, hours, minutes = '0', seconds = '0'] = /^([+-])(\d\d)(?::?(\d\d)(?::?(\d\d))?)?$/.exec(text) ?? [];
  if (sign === undefined) return null;
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -ms : ms;
}

/** No amount and no time is longer, and what reads them takes the square of their length at the worst. */
const CHARACTERS_MAX = 100;
const YEAR_FIRST = /^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)/;
const COMPACT = /^(\d{4})(\d\d)(\d\d)(?!\d)/;
const YEAR_LAST = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?!\d)/;
const ZONE = String.raw`(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?|[A-Za-z]+\/[A-Za-z_/+-]+)?$`;
const CLOCK = new RegExp(
  String.raw`^[T\s,]+(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(?:([AaPp])\.?[Mm]\b\.?|Uhr)?\s*${ZONE}`,
);
const COMPACT_CLOCK = new RegExp(String.raw`^[T\s]+(\d\d)(\d\d)(\d\d)?()()\s*${ZONE}`);

/**
 * Reads a moment. A time without an offset of its own is one of `zone`; a date alone is the day's beginning there. Times that the
 * clocks of the zone skip in spring, or show twice in autumn, are errors: nobody can say which moment is meant.
 *
 * @param zone Null: none was stated, and every time has to say its own.
 */
export function readTime(text: string, form: DateForm, zone: string | null, offsets: ZoneOffset): ReadTime {
  const trimmed = text.trim();
  if (trimmed.length > CHARACTERS_MAX) return failed('time_unreadable');
  if (form === 'epoch_s' || form === 'epoch_ms') return readEpoch(trimmed, form === 'epoch_s' ? 1000 : 1);
  if (form === 'excel') return readSerial(trimmed, zone, offsets);
  const date = readDate(trimmed, form);
  if (typeof date === 'string') return failed(date);
  const clock = clockOf(date.rest);
  if (clock === null) return failed('time_unreadable');
  const own = clock.zone ?? zone;
  if (own === null) return failed('zone_missing');
  return inZone(date.dayMs + clock.ms, own, offsets, clock.isDay);
}

const failed = (problem: TimeProblem): ReadTime => ({ ok: false, problem });

function readEpoch(text: string, unitMs: number): ReadTime {
  const ms = /^\d{1,13}(?:\.\d{1,9})?$/.test(text) ? Math.round(Number(text) * unitMs) : Number.NaN;
  return Number.isSafeInteger(ms) ? { ok: true, timeMs: ms } : failed('time_unreadable');
}

/** Day 0 of spreadsheets, whose 1900 has a 29th of February. */
const SERIAL_ZERO_MS = Date.UTC(1899, 11, 30);

function readSerial(text: string, zone: string | null, offsets: ZoneOffset): ReadTime {
  if (!/^\d{4,6}(?:[.,]\d+)?$/.test(text)) return failed('time_unreadable');
  if (zone === null) return failed('zone_missing');
  const days = Number(text.replace(',', '.'));
  // To the second: the fraction of a day says no more.
  const wallMs = SERIAL_ZERO_MS + Math.round(days * 86_400) * 1000;
  return inZone(wallMs, zone, offsets, Number.isInteger(days));
}

function readDate(text: string, form: DateForm): { dayMs: number; rest: string } | TimeProblem {
  const first = YEAR_FIRST.exec(text);
  if (first !== null) return dayOf(text, first[0], first[1], first[3], first[4]);
  const compact = COMPACT.exec(text);
  if (compact !== null) return dayOf(text, compact[0], compact[1], compact[2], compact[3]);
  const [whole, a = '', sign, b = '', year = ''] = YEAR_LAST.exec(text) ?? [];
  if (whole === undefined) return 'time_unreadable';
  if (year.length === 2 && form === 'auto') return 'date_ambiguous';
  const order = form === 'auto' ? orderOf(Number(a), Number(b), sign ?? '') : form;
  if (order === null) return 'date_ambiguous';
  const [day, month] = order === 'dmy' ? [a, b] : [b, a];
  return dayOf(text, whole, year.length === 2 ? `20${year}` : year, month, day);
}

/** With points the day comes first wherever dates are written so; otherwise a number above 12 is the day. */
function orderOf(a: number, b: number, sign: string): 'dmy' | 'mdy' | null {
  if (sign === '.' || (a > 12 && b <= 12) || a === b) return 'dmy';
  return b > 12 && a <= 12 ? 'mdy' : null;
}

function dayOf(text: string, whole: string, year = '', month = '', day = '') {
  const dayMs = Date.UTC(Number(year), Number(month) - 1, Number(day));
  const date = new Date(dayMs);
  // 31 February is no day of March.
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return 'time_unreadable' as const;
  return { dayMs, rest: text.slice(whole.length) };
}

interface Clock {
  /** Since the day's beginning. */
  ms: number;
  /** No time of day was given. */
  isDay: boolean;
  zone: string | null;
}

function clockOf(rest: string): Clock | null {
  if (rest === '' || rest === 'Z') return { ms: 0, isDay: true, zone: rest === '' ? null : rest };
  const [whole, hour, minute, second = '0', fraction = '', half = '', zone = null] =
    CLOCK.exec(rest) ?? COMPACT_CLOCK.exec(rest) ?? [];
  if (whole === undefined) return null;
  const isSound = half === '' ? Number(hour) <= 23 : Number(hour) >= 1 && Number(hour) <= 12;
  if (!isSound || Number(minute) > 59 || Number(second) > 59) return null;
  const hours = half === '' ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  const ms = (hours * 3600 + Number(minute) * 60 + Number(second)) * 1000;
  return { ms: ms + Math.floor(Number(`0.${fraction || '0'}`) * 1000), isDay: false, zone };
}

function inZone(wallMs: number, zone: string, offsets: ZoneOffset, isDay: boolean): ReadTime {
  if (zone === 'Z' || zone === 'UTC' || zone === 'GMT') return { ok: true, timeMs: wallMs };
  const fixed = offsetOf(zone);
  if (fixed !== null) return { ok: true, timeMs: wallMs - fixed };
  let around: number[];
  try {
    around = [offsets(zone, wallMs - DAY_MS), offsets(zone, wallMs + DAY_MS)];
  } catch (error) {
    if (error instanceof RangeError) return failed('time_unreadable');
    throw error;
  }
  const moments = [...new Set(around)].map((ms) => wallMs - ms).filter((atMs) => atMs + offsets(zone, atMs) === wallMs);
  const [first, second] = moments.sort((a, b) => a - b);
  if (first === undefined) {
    // A day that begins with the skipped hour begins behind it.
    return isDay ? { ok: true, timeMs: wallMs - Math.min(...around) } : failed('time_skipped');
  }
  return second === undefined || isDay ? { ok: true, timeMs: first } : failed('time_repeated');
}

/** The sign before the decimals; `auto` takes it from the number itself, where that says it. */
export type Decimal = 'auto' | ',' | '.';

export type NumberProblem = 'number_ambiguous' | 'number_unreadable';

export type ReadNumber = { ok: true; value: number; currency: string | null } | { ok: false; problem: NumberProblem };

/** What stands between groups of thousands, beside comma and point. */
const GROUP_SIGNS = /[ '\u00a0\u202f\u2009\u2019]/;
const CURRENCIES: Readonly<Record<string, string>> = { '€': 'EUR', '£': 'GBP', '¥': 'JPY' };
const CURRENCY = /^(?:([A-Za-z]{3})|([€£¥$]))\s*(?=[\d(.,+-])|(?<=[\d).,-])\s*(?:([A-Za-z]{3})|([€£¥$]))$/;
const DIGITS_MAX = 15;

/**
 * Reads an amount. `1.234` and `1,234` may each be a thousand or one: an error, unless `decimal` says which. Negative ones are
 * written `-5`, `5-` or `(5)`.
 *
 * @returns `currency` is what stands beside the number, null for none; `$` is that of several countries and says nothing.
 */
export function readNumber(text: string, decimal: Decimal): ReadNumber {
  const trimmed = text.trim();
  if (trimmed.length > CHARACTERS_MAX) return { ok: false, problem: 'number_unreadable' };
  const beside = CURRENCY.exec(trimmed);
  const code = beside?.[1] ?? beside?.[3];
  const currency = code?.toUpperCase() ?? CURRENCIES[beside?.[2] ?? beside?.[4] ?? ''] ?? null;
  const signed = beside === null ? trimmed : trimmed.replace(CURRENCY, '');
  const [, minus, inner, behind] = /^([-\u2212+]?)\s*(.*?)\s*(-?)$/s.exec(signed) ?? [];
  const parenthesised = /^\((.*)\)$/.exec(inner ?? '');
  const body = parenthesised?.[1] ?? inner ?? '';
  const signs = [minus === '-' || minus === '\u2212', behind === '-', parenthesised !== null].filter(Boolean).length;
  const read = readPlain(body, decimal);
  if (typeof read === 'string') return { ok: false, problem: read };
  if (signs > 1) return { ok: false, problem: 'number_unreadable' };
  return { ok: true, value: signs === 1 && read !== 0 ? -read : read, currency };
}

function readPlain(body: string, decimal: Decimal): number | NumberProblem {
  if (body.replace(/\D/g, '').length > DIGITS_MAX) return 'number_unreadable';
  const sign = decimal === 'auto' ? decimalOf(body) : decimal;
  if (sign === 'number_ambiguous') return sign;
  const at = sign === null ? -1 : body.lastIndexOf(sign);
  const whole = at < 0 ? body : body.slice(0, at);
  const decimals = at < 0 ? '' : body.slice(at + 1);
  const isSound = /^\d*$/.test(decimals) && (sign === null || !whole.includes(sign)) && isGrouped(whole);
  if (!isSound || `${whole}${decimals}` === '') return 'number_unreadable';
  return Number(`${whole.replace(/\D/g, '') || '0'}.${decimals || '0'}`);
}

/** The decimal sign of a number; null: it has none. */
function decimalOf(body: string): ',' | '.' | null | 'number_ambiguous' {
  const [commas, points] = [body.split(',').length - 1, body.split('.').length - 1];
  if (commas > 0 && points > 0) return body.lastIndexOf(',') > body.lastIndexOf('.') ? ',' : '.';
  const count = commas + points;
  if (count !== 1) return null;
  const sign = commas === 1 ? ',' : '.';
  const [before = '', after = ''] = body.split(sign);
  const mayBeGroups = after.length === 3 && /^[1-9]\d{0,2}$/.test(before);
  return mayBeGroups ? 'number_ambiguous' : sign;
}

function isGrouped(whole: string): boolean {
  if (/^\d*$/.test(whole)) return true;
  const [, sign = ''] = /^\d{1,3}(\D)/.exec(whole) ?? [];
  if (sign !== ',' && sign !== '.' && !GROUP_SIGNS.test(sign)) return false;
  const [first = '', ...groups] = whole.split(sign);
  return /^\d{1,3}$/.test(first) && groups.every((group) => /^\d{3}$/.test(group));
}
