const DAY_MS = 86_400_000;

/**
 * How long an answer may be kept. Late events and merges change the past too, but seldom: what ended a week ago is kept for
 * ten minutes, what ended a day ago for one, and what still goes on for five seconds.
 */
export function keptMs(toMs: number, nowMs: number): number {
  if (toMs <= nowMs - 7 * DAY_MS) return 600_000;
  return toMs <= nowMs - DAY_MS ? 60_000 : 5_000;
}
