import type { RetentionAnswer, RetentionQuery } from '#pipelines/analytics/retention.ts';
import type { TopAnswer, TopQuery } from '#pipelines/analytics/top.ts';
import { intervalStart, intervalsBetween } from './calendar.ts';
import { byPerson, type Deed, type Ledger } from './reference_ledger.ts';
import { isSelected, scoped, textOf } from './selecting.ts';

interface Figures {
  events: number;
  persons: number;
  sum: number;
}

function figures(deeds: readonly Deed[], amount: (deed: Deed) => number): Figures {
  const units = deeds.reduce((sum, deed) => sum + BigInt(Math.round(amount(deed) * 1e6)), 0n);
  return { events: deeds.length, persons: new Set(deeds.map(({ person }) => person)).size, sum: Number(units) / 1e6 };
}

/** Retention by looking at each person. */
export function retentionByHand(query: RetentionQuery, ledger: Ledger): RetentionAnswer {
  const cohorts = new Map<number, number[][]>();
  const known = query.mode === 'first_ever' ? { ...query, from: 0 } : query;
  for (const deeds of byPerson(scoped(ledger, known)).values()) {
    for (const first of startsOf(query, deeds)) {
      const periods = deeds
        .filter((deed) => deed.at > first.at && isSelected(query.back, deed))
        .map(({ at }) => intervalsBetween(query.interval, first.at, at));
      const from = intervalStart(query.interval, first.at);
      cohorts.set(from, [...(cohorts.get(from) ?? []), [...new Set(periods)]]);
    }
  }
  return {
    cohorts: [...cohorts]
      .sort(([a], [b]) => a - b)
      .map(([from, people]) => {
        const last = Math.max(-1, ...people.flat());
        const returned = Array.from(
          { length: last + 1 },
          (_, period) => people.filter((periods) => periods.includes(period)).length,
        );
        return { from, persons: people.length, returned };
      }),
  };
}

/** The start events of a person that put it into an interval. */
export function startsOf({ mode, start, interval, from }: RetentionQuery, deeds: readonly Deed[]): Deed[] {
  const starts = deeds.filter((deed) => isSelected(start, deed));
  if (mode !== 'recurring') return starts.slice(0, 1).filter(({ at }) => at >= from);
  const places = starts.map(({ at }) => intervalStart(interval, at));
  return starts.filter((_, index) => places.indexOf(places[index] ?? 0) === index);
}

/** Top values by counting. */
export function topByHand(query: TopQuery, ledger: Ledger): TopAnswer {
  const selection = query.events === undefined ? {} : { events: query.events };
  const deeds = scoped(ledger, query).filter((deed) => isSelected(selection, deed));
  const key = { events: 'events', persons: 'persons', value: 'sum' }[query.by ?? 'events'] as keyof Figures;
  const values = [...Map.groupBy(deeds, (deed) => textOf(query.field, deed))]
    .map(([value, of]) => ({ value, of, ...figures(of, (deed) => deed.value ?? 0) }))
    .sort((a, b) => b[key] - a[key] || (a.value < b.value ? -1 : 1));
  const limit = query.limit ?? 20;
  const rest = values.slice(limit).flatMap(({ of }) => of);
  return {
    values: values.slice(0, limit).map(({ of: _of, ...value }) => value),
    more_values: values.length > limit,
    other: rest.length === 0 ? null : { values: values.length - limit, ...figures(rest, (deed) => deed.value ?? 0) },
  };
}
