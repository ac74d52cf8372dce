import { HOUR_MS, type Refusal, reasonOf } from './refusal_notes.ts';

/** How often something was not accepted, in an hour since 1970 UTC. */
export interface HourRefusals extends Refusal {
  hour: number;
  count: number;
}

/** By hour, or by day of UTC. */
export const REFUSAL_INTERVALS = ['hour', 'day'] as const;
export type RefusalInterval = (typeof REFUSAL_INTERVALS)[number];

interface Counted extends Refusal {
  count: number;
}

/** How often, in the interval that begins at `at`. */
interface CountedAt extends Counted {
  at: number;
}

const INTERVAL_MS: Readonly<Record<RefusalInterval, number>> = { hour: HOUR_MS, day: 24 * HOUR_MS };

/**
 * What was not accepted by interval, the earliest first, and over the whole time, the most frequent first. An hour of which a
 * part is asked for counts as a whole: more is not kept.
 *
 * @param from Inclusive, as `to` exclusive, in milliseconds since 1970 UTC.
 */
export function refusalCounts(
  hours: readonly HourRefusals[],
  { from, to, interval }: { from: number; to: number; interval: RefusalInterval },
): { totals: Counted[]; counts: CountedAt[] } {
  const totals = new Map<string, Counted>();
  const counts = new Map<string, CountedAt>();
  for (const { hour, kind, code, count } of hours) {
    if ((hour + 1) * HOUR_MS <= from || hour * HOUR_MS >= to) continue;
    const at = Math.floor((hour * HOUR_MS) / INTERVAL_MS[interval]) * INTERVAL_MS[interval];
    const reason = reasonOf({ kind, code });
    const total = totals.get(reason);
    totals.set(reason, { kind, code, count: (total?.count ?? 0) + count });
    const key = `${at} ${reason}`;
    counts.set(key, { at, kind, code, count: (counts.get(key)?.count ?? 0) + count });
  }
  return {
    totals: [...totals.values()].sort((a, b) => b.count - a.count || byReason(a, b)),
    counts: [...counts.values()].sort((a, b) => a.at - b.at || byReason(a, b)),
  };
}

const byReason = (a: Refusal, b: Refusal): number => (reasonOf(a) < reasonOf(b) ? -1 : 1);
