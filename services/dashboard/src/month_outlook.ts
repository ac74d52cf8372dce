/** How a month's use goes on at its rate so far. */
interface Forecast {
  /** Events at the end of the month. */
  total: number;
  /** When the allowance is used up, in milliseconds since 1970 UTC; null: not in this month. */
  reachedAtMs: number | null;
}

/** A rate needs some time to say anything. */
const KNOWN_AFTER_MS = 6 * 3_600_000;
/** So much more than the allowance is still taken (SPEC's grace margin). */
export const GRACE = 1.2;

/** What the month comes to at its rate so far; null in its first hours. */
function forecast(used: number, allowance: number, nowMs: number): Forecast | null {
  const now = new Date(nowMs);
  const begin = Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  const passed = nowMs - begin;
  if (passed < KNOWN_AFTER_MS) return null;
  const perMs = used / passed;
  const total = Math.round(perMs * (end - begin));
  if (used >= allowance) return { total, reachedAtMs: nowMs };
  const reachedAtMs = perMs === 0 ? Number.POSITIVE_INFINITY : Math.round(begin + allowance / perMs);
  return { total, reachedAtMs: reachedAtMs < end ? reachedAtMs : null };
}

/**
 * - within: it lasts at the rate so far, or that is not known yet
 * - will_end: it is used up before the month is over
 * - used_up: it is, and the grace margin is not
 * - dropping: that is used up as well, and events are dropped
 */
export type AllowanceState = 'within' | 'will_end' | 'used_up' | 'dropping';

/** How an account stands in a month: what its use comes to, and whether that is fine. */
interface MonthOutlook {
  state: AllowanceState;
  expected: Forecast | null;
}

/** The one rule by which the overview and the account page judge a month. */
export function monthOutlook(used: number, allowance: number, nowMs: number): MonthOutlook {
  const expected = forecast(used, allowance, nowMs);
  if (used >= allowance * GRACE) return { state: 'dropping', expected };
  if (used >= allowance) return { state: 'used_up', expected };
  return { state: expected !== null && expected.reachedAtMs !== null ? 'will_end' : 'within', expected };
}
