import type { VisitsAnswer, VisitsQuery } from '#pipelines/analytics/visits/question.ts';
import { intervalStart } from './calendar.ts';
import { inOrder, type Ledger } from './reference_ledger.ts';
import { passesAll } from './selecting.ts';
import { type Visit, visitsByHand, visitText } from './visit_cuts.ts';

const DAY_MS = 86_400_000;
const BOUNCE_MS = 10_000;
const CONVERSIONS = [
  ...['purchase', 'generate_lead', 'sign_up', 'subscribe', 'start_trial'],
  ...['Order Completed', 'Lead Generated', 'Signed Up', 'Subscribed', 'Trial Started'],
];

type Figures = Omit<VisitsAnswer, 'intervals' | 'values' | 'other'>;

/** The answer to a question of visits by looking at each. */
export function visitsAnswerByHand(query: VisitsQuery, ledger: Ledger): VisitsAnswer {
  const counted = visitsByHand(ledger, query).filter(
    ({ began, deeds }) =>
      began >= query.from && began < query.to && deeds.some((deed) => passesAll(query.filters, deed)),
  );
  const owners = ownersOf(ledger, query);
  const figures = (some: readonly Visit[]): Figures => figuresOf(some, owners, query);
  const { breakdown, interval } = query;
  const intervals =
    interval === undefined ? [] : [...Map.groupBy(counted, ({ began }) => intervalStart(interval, began))];
  const byText = breakdown === undefined ? [] : [...Map.groupBy(counted, (visit) => visitText(breakdown.visit, visit))];
  const values = byText.toSorted(([a, one], [b, other]) => other.length - one.length || (a < b ? -1 : 1));
  const limit = breakdown?.limit ?? 20;
  const rest = values.slice(limit);
  return {
    ...figures(counted),
    intervals: intervals.toSorted(([a], [b]) => a - b).map(([from, some]) => ({ from, ...figures(some) })),
    values: values.slice(0, limit).map(([value, some]) => ({ value, ...figures(some) })),
    other: rest.length === 0 ? null : { values: rest.length, ...figures(rest.flatMap(([, some]) => some)) },
  };
}

/** Of each key whom its last event belongs to. */
function ownersOf(ledger: Ledger, { from, to }: { from: number; to: number }): Map<string, string> {
  const near = ledger.filter(({ at, visit }) => visit !== null && at >= Math.max(0, from - DAY_MS) && at < to + DAY_MS);
  return new Map(inOrder(near).map(({ visit, person }) => [visit?.key ?? '', person]));
}

function figuresOf(some: readonly Visit[], owners: ReadonlyMap<string, string>, query: VisitsQuery): Figures {
  const { attention = false, conversions } = query;
  const converts = ({ deeds }: Visit): boolean =>
    deeds.some(({ name }) => (conversions?.events ?? CONVERSIONS).includes(name));
  const views = ({ deeds }: Visit): number => deeds.filter(({ name }) => name === 'page_view').length;
  const lasted = ({ deeds, began }: Visit): number => (deeds.at(-1)?.at ?? 0) - began;
  const sum = (of: (visit: Visit) => number): number => some.reduce((total, visit) => total + of(visit), 0);
  const scrolls = some
    .map(({ deeds }) => Math.max(...deeds.map(({ scrolled }) => scrolled ?? -1)))
    .filter((most) => most >= 0);
  return {
    visits: some.length,
    visitors: new Set(some.map(({ deeds }) => owners.get(deeds[0]?.visit?.key ?? ''))).size,
    bounces: some.filter((visit) => views(visit) <= 1 && lasted(visit) < BOUNCE_MS && !converts(visit)).length,
    page_views: sum(views),
    conversions: some.filter(converts).length,
    duration_ms: some.length === 0 ? null : sum(lasted) / some.length,
    engaged_ms:
      !attention || some.length === 0
        ? null
        : sum(({ deeds }) => deeds.reduce((all, { engagedMs }) => all + engagedMs, 0)) / some.length,
    scroll_percent:
      !attention || scrolls.length === 0 ? null : scrolls.reduce((total, most) => total + most, 0) / scrolls.length,
  };
}
