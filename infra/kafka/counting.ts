import type { Metrics } from '#infra/metrics/metrics.ts';

/** What a stage did with one batch; in = passed + dropped + diverted + dead. */
export interface Tally {
  in: number;
  passed: number;
  dropped: Map<string, number>;
  diverted: Map<string, number>;
  dead: Map<string, number>;
  /** Arrival at the edge of the oldest event passed; null where none was. */
  oldestMs: number | null;
}

export function emptyTally(): Tally {
  return { in: 0, passed: 0, dropped: new Map(), diverted: new Map(), dead: new Map(), oldestMs: null };
}

export function count(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

/** Adds a tally to the process's metrics, with the time that its batch took. */
export function publish(metrics: Metrics, tally: Tally, startedMs: number, nowMs: number): void {
  metrics.in(tally.in);
  metrics.passed(tally.passed);
  for (const [reason, number] of tally.dropped) metrics.dropped(reason, number);
  for (const [lane, number] of tally.diverted) metrics.diverted(lane, number);
  for (const [reason, number] of tally.dead) metrics.dead(reason, number);
  metrics.batchSeconds((nowMs - startedMs) / 1000);
  if (tally.oldestMs !== null) metrics.ageSeconds(Math.max(0, nowMs - tally.oldestMs) / 1000);
}
