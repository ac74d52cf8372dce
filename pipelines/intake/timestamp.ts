import type { RejectionCode } from './rejections.ts';

const CHARACTERS_MAX = 40;
const AHEAD_MAX_MS = 24 * 3600 * 1000;
/** 731 days, so that a leap year never shortens the two years. */
const AGE_MAX_MS = 731 * 24 * 3600 * 1000;
const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,18}))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)$/;

export type TimestampOutcome =
  | { ok: true; timestamp: number; original: string | null }
  | { ok: false; code: RejectionCode };

/**
 * When the event happened, in milliseconds since 1970 UTC. Absent: arrival. More than 24 h ahead, where only a wrong
 * clock can have put it: arrival, and what was sent is kept as `original`. Older than two years or unreadable: rejected.
 */
export function readTimestamp(sent: unknown, receivedAtMs: number): TimestampOutcome {
  if (sent === undefined || sent === null) return { ok: true, timestamp: receivedAtMs, original: null };
  if (typeof sent !== 'string') return { ok: false, code: 'timestamp_invalid' };
  const timestamp = parseIso8601(sent);
  if (timestamp === null) return { ok: false, code: 'timestamp_invalid' };
  if (timestamp - receivedAtMs > AHEAD_MAX_MS) return { ok: true, timestamp: receivedAtMs, original: sent };
  if (receivedAtMs - timestamp > AGE_MAX_MS) return { ok: false, code: 'timestamp_too_old' };
  return { ok: true, timestamp, original: null };
}

/** Milliseconds since 1970 UTC of an ISO 8601 date and time with an offset or Z, or null. A leap second counts as the next. */
export function parseIso8601(text: string): number | null {
  if (text.length > CHARACTERS_MAX) return null;
  const parts = ISO_8601.exec(text);
  if (parts === null) return null;
  const [, year, month, day, hour, minute, second = '0', fraction = '', sign, offsetHour = '0', offsetMinute = '0'] =
    parts;
  if (
    !isTimeOfDay(Number(hour), Number(minute), Number(second)) ||
    !isTimeOfDay(Number(offsetHour), Number(offsetMinute), 0)
  ) {
    return null;
  }
  if (!isDate(Number(year), Number(month), Number(day))) return null;
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'));
  const local = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    milliseconds,
  );
  const offsetMs = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000;
  return sign === '-' ? local + offsetMs : local - offsetMs;
}

function isTimeOfDay(hour: number, minute: number, second: number): boolean {
  return hour <= 23 && minute <= 59 && (second <= 59 || (second === 60 && minute === 59));
}

function isDate(year: number, month: number, day: number): boolean {
  if (year < 1000 || month < 1 || month > 12 || day < 1) return false;
  return day <= 28 || day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}
