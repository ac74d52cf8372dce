import type { VisitsAnswer, VisitsQuery } from '#pipelines/analytics/visits/question.ts';
import { intervalStart } from './calendar.ts';
import { type Deed, inOrder, type Ledger } from './reference_ledger.ts';
import { passesAll } from './selecting.ts';

const PAUSE_MS = 1_800_000;
const DAY_MS = 86_400_000;
const BOUNCE_MS = 10_000;
const CONVERSIONS = ['purchase', 'generate_lead', 'sign_up', 'subscribe', 'start_trial'];

/** What a browser, or a session that its sender tells, did at one time. */
interface Visit {
  deeds: Deed[];
  began: number;
}

/** All visits of the events of a time and of a day around it, in no order. */
function visitsByHand(ledger: Ledger, { from, to }: { from: number; to: number }): Visit[] {
  const near = ledger.filter(({ at, visit }) => visit !== null && at >= Math.max(0, from - DAY_MS) && at < to + DAY_MS);
  const keys = Map.groupBy(near, ({ visit }) => visit?.key ?? '');
  return [...keys.values()].flatMap((deeds) => {
    const sorted = inVisitOrder(deeds);
    return sorted[0]?.visit?.isTold ? [visitOf(sorted)] : cut(sorted);
  });
}

const visitOf = (deeds: Deed[]): Visit => ({ deeds, began: deeds[0]?.at ?? 0 });

/** Of one moment those that tell a campaign come first. */
const inVisitOrder = (deeds: readonly Deed[]): Deed[] =>
  inOrder(deeds).toSorted((a, b) => a.at - b.at || Number(campaignOf(a) === null) - Number(campaignOf(b) === null));

const campaignOf = ({ arrival }: Deed): string | null =>
  arrival?.isCampaign === true ? [arrival.source, arrival.medium, arrival.campaign].join('/') : null;

/** A browser's events by pauses, and by moments at which another campaign begins than the one that the visit has. */
function cut(sorted: readonly Deed[]): Visit[] {
  const visits: Visit[] = [];
  let own: string | null = null;
  let last = Number.NEGATIVE_INFINITY;
  for (const deed of sorted) {
    const told = deed.at > last ? campaignOf(deed) : null;
    const current = visits.at(-1);
    const isOther = told !== null && own !== null && told !== own;
    if (current === undefined || deed.at - last > PAUSE_MS || isOther) {
      visits.push(visitOf([deed]));
      own = told;
    } else {
      current.deeds.push(deed);
      own = told ?? own;
    }
    last = deed.at;
  }
  return visits;
}

/** A value of a visit. */
function visitText(value: string, { deeds }: Visit): string {
  const first = (of: (deed: Deed) => string): string => deeds.map(of).find((text) => text !== '') ?? '';
  if (value === 'landing_page') return first(({ page }) => page);
  if (value === 'exit_page') return deeds.findLast(({ page }) => page !== '')?.page ?? '';
  // Devices and places are those of the first event that tells any of them.
  const entry = deeds.find((deed) => entryOf(deed).some((text) => text !== ''));
  if (value === 'device_type') return entry === undefined ? '' : (entryOf(entry)[0] ?? '');
  if (value === 'geo_country') return entry === undefined ? '' : (entryOf(entry)[1] ?? '');
  const arrival = (deeds.find((deed) => campaignOf(deed) !== null) ?? deeds[0])?.arrival ?? null;
  if (value === 'channel') return arrival?.channel ?? 'Direct';
  if (arrival === null) return '';
  return (
    { source: arrival.source, medium: arrival.medium, campaign: arrival.campaign, referrer: arrival.referrer }[value] ??
    ''
  );
}

const entryOf = (deed: Deed): string[] => [['desktop', 'mobile', ''][deed.size % 3] ?? '', deed.country];

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
