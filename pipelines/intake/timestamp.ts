import { parseIso8601 } from './iso_8601.ts';
import type { RejectionCode } from './rejections.ts';

const AHEAD_MAX_MS = 24 * 3600 * 1000;
/** 731 days, so that a leap year never shortens the two years. */
const AGE_MAX_MS = 731 * 24 * 3600 * 1000;

export type TimestampOutcome =
  | { ok: true; timestamp: number; original: string | null }
  | { ok: false; code: RejectionCode };

/**
 * When the event happened, in milliseconds since 1970 UTC. Absent: arrival. More than 24 h ahead, where only a wrong
 * clock can have put it: arrival, and what was sent is kept as `original`. Older than two years or unreadable: rejected.
 */
export function readTimestamp(sent: unknown, receivedAtMs: number): TimestampOutcome {
  if (sent === undefined || sent === null) return { ok: true, timestamp: receivedAtMs, original: null };
  const timestamp = typeof sent === 'string' ? parseIso8601(sent) : null;
  if (typeof sent !== 'string' || timestamp === null) return { ok: false, code: 'timestamp_invalid' };
  if (timestamp - receivedAtMs > AHEAD_MAX_MS) return { ok: true, timestamp: receivedAtMs, original: sent };
  if (receivedAtMs - timestamp > AGE_MAX_MS) return { ok: false, code: 'timestamp_too_old' };
  return { ok: true, timestamp, original: null };
}
