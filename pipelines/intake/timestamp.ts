// Times of events, as senders write them.
import type { Caller } from '#schemas/event.ts';
import type { RejectionCode } from './field_rules.ts';

const AHEAD_MAX_MS = 24 * 3600 * 1000;
/** 731 days, so that a leap year never shortens the two years. */
const AGE_MAX_MS = 731 * 24 * 3600 * 1000;
/** No clock is further ahead: digits that read as such a time may be a phone number in the wrong field, which is not kept. */
const CLOCK_AHEAD_MAX_MS = 20 * 366 * 24 * 3600 * 1000;
/** Alone, or as a fraction of a second that is finer than any clock's. */
const DIGITS_ALONE = /^\s*-?[\d.]+\s*$|[.,]\d{10}/;
/** Before it nothing was measured that somebody could bring here; and each month is a part of every block that is stored. */
const HISTORY_FROM_MS = Date.UTC(2005, 0);
/** By less the way to here alone may differ, and a clock that nobody looks after. */
const CLOCK_OFF_MS = 5 * 60_000;

/** What is known of a request that its events' times are judged by. */
export interface TimedRequest {
  receivedAtMs: number;
  caller: Caller;
  /** When its sender says to have sent it, by the clock that made the events' times. */
  sentAtMs?: number | null;
  /** It came by another product's protocol, which loses no event for its time and takes numbers. */
  isCrossOrigin?: boolean;
  /** Its events are of the past: each has a time of its own, of any age. */
  isHistorical?: boolean;
}

/** Why the time that was sent gave way to that of the arrival. */
export type TimeWarning = 'timestamp_invalid' | 'timestamp_too_old' | 'timestamp_ahead';

type TimestampOutcome =
  | { ok: true; timestamp: number; original: string | null; warning: TimeWarning | null }
  | { ok: false; code: RejectionCode };

/**
 * When the event happened, in milliseconds since 1970 UTC. Absent: arrival. Where the sender's clock is off, what it said is
 * moved by that: of ours by more than five minutes, of another product's by a millisecond. More than 24 h ahead, where only a wrong clock can have put it, or in a browser more
 * than two years ago: arrival. What was sent is kept as `original` where it does not stand. Of a server a time of more than two
 * years ago is rejected, as today's figures would be wrong with it, and so is an unreadable one, unless the request is foreign.
 *
 * Of a historical event no other time will do, and no clock says that it is off: what is not its time is refused.
 *
 * @param sentAtMs When the event's sender says to have sent it, where an event says so itself.
 */
export function readTimestamp(
  sent: unknown,
  request: TimedRequest,
  sentAtMs: number | null = request.sentAtMs ?? null,
): TimestampOutcome {
  if (request.isHistorical === true) return readHistorical(sent, request);
  const { receivedAtMs, caller, isCrossOrigin = false } = request;
  if (sent === undefined || sent === null) return arrival(receivedAtMs, null, null);
  const said = readSaid(sent, isCrossOrigin);
  if (said === null) {
    return isCrossOrigin ? arrival(receivedAtMs, null, 'timestamp_invalid') : { ok: false, code: 'timestamp_invalid' };
  }
  const offMs = sentAtMs === null ? 0 : clockOffMs(said, sentAtMs, request);
  const timestamp = said + offMs;
  if (isAhead(timestamp, receivedAtMs)) {
    const isTime = timestamp - receivedAtMs <= CLOCK_AHEAD_MAX_MS || !DIGITS_ALONE.test(writtenTime(sent) ?? '');
    return arrival(receivedAtMs, isTime ? sent : null, 'timestamp_ahead');
  }
  if (!isTooOld(timestamp, receivedAtMs)) {
    return { ok: true, timestamp, original: offMs === 0 ? null : writtenTime(sent), warning: null };
  }
  if (caller === 'browser') return arrival(receivedAtMs, sent, 'timestamp_too_old');
  return { ok: false, code: 'timestamp_too_old' };
}

const readSaid = (sent: unknown, isCrossOrigin: boolean): number | null =>
  isCrossOrigin ? readForeignTime(sent) : typeof sent === 'string' ? parseIso8601(sent) : null;

function readHistorical(sent: unknown, { receivedAtMs, isCrossOrigin = false }: TimedRequest): TimestampOutcome {
  if (sent === undefined || sent === null) return { ok: false, code: 'timestamp_missing' };
  const timestamp = readSaid(sent, isCrossOrigin);
  if (timestamp === null) return { ok: false, code: 'timestamp_invalid' };
  if (timestamp < HISTORY_FROM_MS) return { ok: false, code: 'timestamp_too_old' };
  if (isAhead(timestamp, receivedAtMs)) return { ok: false, code: 'timestamp_ahead' };
  return { ok: true, timestamp, original: null, warning: null };
}

const isAhead = (timestamp: number, receivedAtMs: number): boolean => timestamp - receivedAtMs > AHEAD_MAX_MS;
const isTooOld = (timestamp: number, receivedAtMs: number): boolean => receivedAtMs - timestamp > AGE_MAX_MS;

/** The arrival in place of what was sent, which is kept where it is a time: else it may be anything, also somebody's address. */
function arrival(receivedAtMs: number, time: unknown, warning: TimeWarning | null): TimestampOutcome {
  return { ok: true, timestamp: receivedAtMs, original: writtenTime(time), warning };
}

/** A time as it was written; null where it is neither a text nor a number. */
export function writtenTime(sent: unknown): string | null {
  return typeof sent === 'number' ? String(sent) : typeof sent === 'string' ? sent : null;
}

/** What would put an event where none can be was not said by the clock that made its time, and says nothing. */
function clockOffMs(said: number, sentAtMs: number, { receivedAtMs, isCrossOrigin = false }: TimedRequest): number {
  const offMs = receivedAtMs - sentAtMs;
  if (!isCrossOrigin && Math.abs(offMs) <= CLOCK_OFF_MS) return 0;
  return isAhead(said + offMs, receivedAtMs) || isTooOld(said + offMs, receivedAtMs) ? 0 : offMs;
}

/** Below it a number is the milliseconds of a clock that began at 1970 up to eleven days ago, as that of a device without power. */
const CLOCK_BEGAN_MS_MAX = 1e9;

/** When a request says that it was sent: ISO 8601, or a number since 1970 UTC in the unit that its size tells; anything else says nothing. */
export function readSentAt(sent: unknown): number | null {
  if (typeof sent === 'string') return parseIso8601(sent);
  if (typeof sent !== 'number') return null;
  return sent >= 0 && sent < CLOCK_BEGAN_MS_MAX ? Math.trunc(sent) : ofNumber(sent);
}

/** Numbers below these are seconds, milliseconds, microseconds and nanoseconds since 1970: each the year 5138 in its unit. */
const SECONDS_MAX = 1e11;
const MILLISECONDS_MAX = 1e14;
const MICROSECONDS_MAX = 1e17;
const NANOSECONDS_MAX = 1e20;
const NUMERAL = /^\d{1,20}(?:\.\d{1,9})?$/;

/** A time as other products' libraries write it: ISO 8601, or a number since 1970, also as text, in the unit that its size tells. */
export function readForeignTime(sent: unknown): number | null {
  if (typeof sent === 'string') return parseIso8601(sent) ?? (NUMERAL.test(sent) ? ofNumber(Number(sent)) : null);
  return typeof sent === 'number' ? ofNumber(sent) : null;
}

function ofNumber(number: number): number | null {
  if (!(number >= 0 && number < NANOSECONDS_MAX)) return null;
  if (number < SECONDS_MAX) return Math.trunc(number * 1000);
  if (number < MILLISECONDS_MAX) return Math.trunc(number);
  return Math.trunc(number / (number < MICROSECONDS_MAX ? 1e3 : 1e6));
}

const CHARACTERS_MAX = 40;
const MINUTE_MS = 60_000;
const DATE_END = 10;
const MINUTE_END = 16;

/**
 * Milliseconds since 1970 UTC of an ISO 8601 date and time, or null. Without an offset it is UTC's, without a time the day's
 * first moment. A space may stand for the T; seconds may be left out, a leap second counts as the next, digits beyond the
 * millisecond are cut. Reads character by character because a regular expression with this many groups costs six times as much, on every event.
 */
export function parseIso8601(text: string): number | null {
  if (text.length > CHARACTERS_MAX) return null;
  if (text.length === DATE_END) return parseIso8601(`${text}T00:00`);
  const offsetAt = offsetStart(text);
  const sum = minuteMs(text) + secondMs(text, offsetAt) - offsetMs(text, offsetAt);
  return Number.isNaN(sum) ? null : sum;
}

/** The minute read last, as most events of a request happened in one; empty until one was read. */
let lastMinute = { text: '', ms: 0 };

/** `YYYY-MM-DDTHH:mm`, NaN when it is none. */
function minuteMs(text: string): number {
  if (lastMinute.text !== '' && text.startsWith(lastMinute.text)) return lastMinute.ms;
  const ms = readMinute(text);
  if (!Number.isNaN(ms)) lastMinute = { text: text.slice(0, MINUTE_END), ms };
  return ms;
}

function readMinute(text: string): number {
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const separator = text.charAt(10);
  if (text.charAt(4) !== '-' || text.charAt(7) !== '-' || text.charAt(13) !== ':') return Number.NaN;
  if (separator !== 'T' && separator !== 't' && separator !== ' ') return Number.NaN;
  if (!(year >= 1000 && month >= 1 && month <= 12 && hour <= 23 && minute <= 59)) return Number.NaN;
  if (!(day >= 1 && (day <= 28 || day <= daysIn(year, month)))) return Number.NaN;
  return Date.UTC(year, month - 1, day, hour, minute);
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** Nothing, `:SS` or `:SS.fff` between the minute and the offset, NaN when it is none. */
function secondMs(text: string, end: number): number {
  if (end === MINUTE_END) return 0;
  const second = digits(text, 17, 19);
  if (text.charAt(MINUTE_END) !== ':' || !(second <= 60)) return Number.NaN;
  if (end === 19) return second * 1000;
  const mark = text.charAt(19);
  if ((mark !== '.' && mark !== ',') || end <= 20 || Number.isNaN(digits(text, 20, end))) return Number.NaN;
  return second * 1000 + digits(text.slice(20, end).padEnd(3, '0'), 0, 3);
}

/** Where the offset begins; the end where there is none, as no hyphen stands behind the date. */
function offsetStart(text: string): number {
  const last = text.charAt(text.length - 1);
  if (last === 'Z' || last === 'z') return text.length - 1;
  const sign = Math.max(text.lastIndexOf('+'), text.lastIndexOf('-'));
  return sign < MINUTE_END ? text.length : sign;
}

/** Nothing, `Z`, `+HH`, `+HHmm` or `+HH:mm`, NaN when it is none. */
function offsetMs(text: string, start: number): number {
  if (start < MINUTE_END) return Number.NaN;
  if (start === text.length) return 0;
  if (start === text.length - 1) return text.charAt(start) === '-' || text.charAt(start) === '+' ? Number.NaN : 0;
  const hasColon = text.charAt(start + 3) === ':';
  const minuteAt = start + (hasColon ? 4 : 3);
  const hasMinutes = hasColon || text.length > minuteAt;
  const hours = digits(text, start + 1, start + 3);
  const minutes = hasMinutes ? digits(text, minuteAt, minuteAt + 2) : 0;
  if (!(hours <= 23 && minutes <= 59) || text.length > minuteAt + (hasMinutes ? 2 : 0)) return Number.NaN;
  return (text.charAt(start) === '-' ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS;
}

/** The number that the characters from `start` to before `end` write in ASCII digits, or NaN. */
function digits(text: string, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    number = number * 10 + digit;
  }
  return number;
}
