import type { FunnelQuery } from '#pipelines/analytics/funnels/query.ts';
import type { ActorsAnswer, ActorsQuery, PartQuery } from '#pipelines/analytics/people/query.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import { intervalStart, intervalsBetween } from './calendar.ts';
import { startsOf } from './counts.ts';
import { type Attempt, attemptsOf, byText, lastWay } from './funnel.ts';
import { wayDeeds } from './paths.ts';
import { byPerson, type Deed, type Ledger } from './reference_ledger.ts';
import { isSelected, scoped } from './selecting.ts';
import { partsOf, ranked, timeBefore } from './trends.ts';

/** One of a list; which of its ids a person used is not among what the generator notes. */
export type Listed = Omit<ActorsAnswer['actors'][number], 'distinct_id'>;

/** The events that actors are listed by, one for each, as the list shows them: by person, then by time. */
export function listedByHand(of: ActorsQuery['of'], ledger: Ledger): Listed[] {
  if ('funnel' in of) return shown(funnelDeeds(of, ledger));
  if ('paths' in of) return shown(wayDeeds(of, ledger));
  return shown('trends' in of ? barDeeds(of, ledger) : cohortDeeds(of, ledger));
}

/** Lists are compared in this order, as that of digests is nothing that a hand could tell. */
export function sorted(listed: readonly Listed[]): Listed[] {
  return listed.toSorted(
    (a, b) => (a.person_id < b.person_id ? -1 : +(a.person_id > b.person_id)) || a.timestamp - b.timestamp,
  );
}

function shown(deeds: readonly Deed[]): Listed[] {
  return sorted(
    deeds.map(({ person, at, name, id }) => ({ person_id: person, timestamp: at, event: name, event_id: id })),
  );
}

function funnelDeeds(of: PartQuery<'funnel'>, ledger: Ledger): Deed[] {
  const { funnel, step, got } = of;
  const before = requiredBefore(funnel, step);
  const attempts = attemptsOf(funnel, ledger);
  const given = byText(attempts).slice(0, funnel.breakdown?.limit ?? 20);
  const texts = new Set(given.map(([text]) => text));
  return attempts
    .filter((attempt) => isInPart(of, attempt, texts))
    .flatMap(({ deeds, ways }) => {
      const [way, left] = got === 'reached' ? [ways[step - 1], undefined] : [ways[before - 1], ways[step - 1]];
      return way === undefined || left !== undefined ? [] : deeds.slice(way.end, way.end + 1);
    });
}

function isInPart(of: PartQuery<'funnel'>, { text, ways }: Attempt, given: ReadonlySet<string>): boolean {
  const { funnel, value, other, interval_from: from } = of;
  if (value !== undefined && text !== value) return false;
  if (other === true && given.has(text)) return false;
  return from === undefined || intervalStart(funnel.trend?.interval ?? 'day', lastWay(ways)?.startedAt ?? 0) === from;
}

/** The nearest step before one that may not be left out. */
export function requiredBefore({ steps }: FunnelQuery, step: number): number {
  return steps.findLastIndex(({ optional }, index) => index < step - 1 && optional !== true) + 1;
}

function barDeeds({ trends, series, parts, other, before, interval_from: from }: PartQuery<'trends'>, ledger: Ledger) {
  const span = before === true ? { ...trends, ...timeBefore(trends) } : trends;
  const given = new Set(givenValues(trends, series, ledger));
  const key = (deed: Deed): string => JSON.stringify(partsOf(trends, deed));
  const deeds = scoped(ledger, span).filter(
    (deed) =>
      isSelected(trends.series[series - 1] ?? {}, deed) &&
      (from === undefined || intervalStart(trends.interval, deed.at) === from) &&
      (parts === undefined || key(deed) === JSON.stringify(parts)) &&
      (other !== true || !given.has(key(deed))),
  );
  return [...byPerson(deeds).values()].flatMap((some) => some.slice(0, 1));
}

/** The values that a series has one by one. */
function givenValues(trends: TrendsQuery, series: number, ledger: Ledger): string[] {
  const ranking = trends.series[(trends.formulas ?? []).length > 0 ? 0 : series - 1] ?? {};
  const deeds = scoped(ledger, trends).filter((deed) => isSelected(ranking, deed));
  return ranked(trends, ranking, deeds).slice(0, trends.breakdown?.limit ?? 100);
}

function cohortDeeds({ retention, cohort, period }: PartQuery<'retention'>, ledger: Ledger): Deed[] {
  const { interval, mode, back } = retention;
  const known = mode === 'first_ever' ? { ...retention, from: 0 } : retention;
  return [...byPerson(scoped(ledger, known)).values()].flatMap((deeds) => {
    const first = startsOf(retention, deeds).find(({ at }) => intervalStart(interval, at) === cohort);
    if (first === undefined || period === undefined) return first === undefined ? [] : [first];
    const later = deeds.find(
      (deed) =>
        deed.at > first.at && isSelected(back, deed) && intervalsBetween(interval, first.at, deed.at) === period,
    );
    return later === undefined ? [] : [later];
  });
}
