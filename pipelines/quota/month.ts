const DAYS_MAX = 31;
const DAY_MS = 86_400_000;

/** The day asked for last, as every request asks for today's. */
let lastDay = { number: Number.NaN, month: '' };

/** UTC month of a time, YYYY-MM: the month an event counts in is that of its arrival. */
export function monthOf(timeMs: number): string {
  const number = Math.floor(timeMs / DAY_MS);
  if (number !== lastDay.number) lastDay = { number, month: new Date(timeMs).toISOString().slice(0, 7) };
  return lastDay.month;
}

/** The month of a time and the one before it: what may still be held or settled. */
export function openMonths(timeMs: number): string[] {
  const date = new Date(timeMs);
  const before = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) - DAY_MS;
  return [monthOf(timeMs), monthOf(before)];
}

/** Whether a month is over for so long that nothing of it is in flight any more. */
export function isClosed(month: string, timeMs: number): boolean {
  return monthSpan(month).from + 3 * DAYS_MAX * DAY_MS < timeMs;
}

/** What a month that is asked for is written as: its year and number. */
export const MONTH_PATTERN = /^20\d\d-(?:0[1-9]|1[0-2])$/;

/** When a month begins, and when the one after it does, in milliseconds since 1970 UTC. */
export function monthSpan(month: string): { from: number; to: number } {
  const from = Date.parse(`${month}-01T00:00:00Z`);
  const begin = new Date(from);
  return { from, to: Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth() + 1) };
}
