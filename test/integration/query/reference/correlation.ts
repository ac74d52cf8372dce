import type { Field } from '#pipelines/analytics/filters.ts';
import type { CorrelationAnswer, CorrelationQuery } from '#pipelines/analytics/funnels/correlation.ts';
import { byPerson, type Deed, type Ledger } from './reference_ledger.ts';
import { scoped, textOf } from './selecting.ts';
import { type Way, waysTo } from './ways.ts';

interface Attempt {
  deeds: readonly Deed[];
  way: Way;
  hasConverted: boolean;
}

/** What goes with converting, by making the table of each event or value. */
export function correlationByHand(query: CorrelationQuery, ledger: Ledger): CorrelationAnswer {
  const attempts = [...byPerson(scoped(ledger, query)).values()].flatMap((deeds): Attempt[] => {
    const ways = waysTo(query, deeds);
    const way = ways.findLast((some) => some !== undefined);
    return way === undefined ? [] : [{ deeds, way, hasConverted: ways.at(-1) !== undefined }];
  });
  const candidates =
    query.fields === undefined
      ? compared(query, attempts, null, (attempt) => eventsOf(query, attempt))
      : query.fields.flatMap((field) =>
          compared(query, attempts, field, ({ deeds, way }) => firstText(field, deeds[way.start])),
        );
  candidates.sort(
    (a, b) => far(b.odds_ratio) - far(a.odds_ratio) || b.persons - a.persons || (a.value < b.value ? -1 : 1),
  );
  const limit = query.limit ?? 20;
  return {
    persons: attempts.length,
    converted: attempts.filter(({ hasConverted }) => hasConverted).length,
    candidates: candidates.slice(0, limit),
    more_candidates: candidates.length > limit,
  };
}

const far = (ratio: number): number => Math.round(Math.abs(Math.log(ratio)) * 1e6);

/** Without what the service says of which events it is. */
function asAsked(field: Field | null): Field | null {
  return JSON.parse(JSON.stringify(field), (key, value) => (key === 'among' ? undefined : value)) as Field | null;
}

const firstText = (field: Field, deed: Deed | undefined): string[] => (deed === undefined ? [] : [textOf(field, deed)]);

/** Names that no step has, of events after the first step, until the last one or the end of the window. */
function eventsOf({ steps, window_ms }: CorrelationQuery, { deeds, way, hasConverted }: Attempt): string[] {
  const named = new Set(steps.flatMap(({ events = [] }) => events));
  const until = hasConverted ? way.end : deeds.findLastIndex(({ at }) => at - way.startedAt <= window_ms) + 1;
  return deeds.slice(way.start + 1, until).flatMap(({ name }) => (named.has(name) ? [] : [name]));
}

function compared(
  { actors_min = 10 }: CorrelationQuery,
  attempts: readonly Attempt[],
  field: Field | null,
  had: (attempt: Attempt) => string[],
): CorrelationAnswer['candidates'] {
  const values = new Set(attempts.flatMap(had));
  return [...values].flatMap((value) => {
    const having = attempts.filter((attempt) => had(attempt).includes(value));
    const others = attempts.filter((attempt) => !had(attempt).includes(value));
    if (having.length < actors_min) return [];
    const [yes, no] = [split(having), split(others)];
    const logarithm = Math.log(yes.won / yes.lost) - Math.log(no.won / no.lost);
    const error = 1.959964 * Math.sqrt(1 / yes.won + 1 / yes.lost + 1 / no.won + 1 / no.lost);
    const [odds_ratio = 0, odds_ratio_low = 0, odds_ratio_high = 0] = [0, -error, error].map((of) =>
      Number(Math.exp(logarithm + of).toPrecision(4)),
    );
    const converted = having.filter(({ hasConverted }) => hasConverted).length;
    return [
      { field: asAsked(field), value, persons: having.length, converted, odds_ratio, odds_ratio_low, odds_ratio_high },
    ];
  });
}

/** How many converted and how many did not, each and a half. */
function split(attempts: readonly Attempt[]): { won: number; lost: number } {
  const won = attempts.filter(({ hasConverted }) => hasConverted).length;
  return { won: won + 0.5, lost: attempts.length - won + 0.5 };
}
