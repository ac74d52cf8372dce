import type { LifecycleAnswer, LifecycleQuery } from '#pipelines/analytics/lifecycle.ts';
import type { StickinessAnswer, StickinessQuery } from '#pipelines/analytics/stickiness.ts';
import { calendar, earlier, intervalStart } from './calendar.ts';
import { byPerson, type Deed, type Ledger } from './reference_ledger.ts';
import { isSelected, scoped } from './selecting.ts';

/** Stickiness by looking at each person. */
export function stickinessByHand(query: StickinessQuery, ledger: Ledger): StickinessAnswer {
  const deeds = scoped(ledger, query);
  return {
    intervals: calendar(query.interval, query).length,
    series: query.series.map((series) => {
      const persons = byPerson(deeds.filter((deed) => isSelected(series, deed)));
      const active = [...persons.values()].map(
        (of) => new Set(of.map(({ at }) => intervalStart(query.interval, at))).size,
      );
      const counts = Array.from({ length: Math.max(0, ...active) }, (_, at) => at + 1);
      return {
        persons: persons.size,
        active: counts.map((count) => ({
          intervals: count,
          persons: active.filter((of) => of === count).length,
          persons_at_least: active.filter((of) => of >= count).length,
        })),
      };
    }),
  };
}

/** A lifecycle by asking of each interval and each person what it did in it, in the one before, and earlier. */
export function lifecycleByHand(query: LifecycleQuery, ledger: Ledger): LifecycleAnswer {
  const { from, to, interval, filters, events } = query;
  const deeds = scoped(ledger, { from: 0, to, ...(filters === undefined ? {} : { filters }) });
  const persons = byPerson(deeds.filter((deed) => isSelected(events === undefined ? {} : { events }, deed)));
  return {
    intervals: calendar(interval, query).map((start) => {
      const counts = { new: 0, returning: 0, resurrecting: 0, dormant: 0 };
      for (const of of persons.values()) {
        const state = stateOf(of, start);
        if (state !== null) counts[state]++;
      }
      return { from: start, ...counts };
    }),
  };

  function stateOf(of: readonly Deed[], start: number): keyof typeof STATES | null {
    const isIn = (at: number, wanted: number): boolean => intervalStart(interval, at) === wanted;
    // What happened before the time in its first interval is neither in that nor in the one before.
    const now = of.some(({ at }) => isIn(at, start) && at >= from);
    const before = of.some(({ at }) => isIn(at, earlier(interval, start, 1)) && (at >= from || start <= from));
    const ever = of.some(({ at }) => at < Math.max(start, from) && (at < from || at < start));
    if (now) return before ? 'returning' : ever ? 'resurrecting' : 'new';
    return before ? 'dormant' : null;
  }
}

const STATES = { new: 0, returning: 0, resurrecting: 0, dormant: 0 };
