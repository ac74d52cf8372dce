import type { Field, Filter } from '#pipelines/analytics/filters.ts';
import type { CorrelationQuery } from '#pipelines/analytics/funnels/correlation.ts';
import type { FunnelQuery } from '#pipelines/analytics/funnels/query.ts';
import type { LifecycleQuery } from '#pipelines/analytics/lifecycle.ts';
import type { PathsQuery } from '#pipelines/analytics/paths.ts';
import type { Selection } from '#pipelines/analytics/question.ts';
import type { RetentionQuery } from '#pipelines/analytics/retention.ts';
import type { RevenueQuery } from '#pipelines/analytics/revenue/query.ts';
import type { StickinessQuery } from '#pipelines/analytics/stickiness.ts';
import type { TopQuery } from '#pipelines/analytics/top.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import type { VisitsQuery } from '#pipelines/analytics/visits/question.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import { anyFilter } from './any_filter.ts';
import { COHORTS } from './cohorts.ts';
import { FROM, NAMES, TO } from './worlds.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export const FIELDS: readonly [Field, ...Field[]] = [
  { column: 'country' },
  { column: 'action_source' },
  { column: 'device_type' },
  { column: 'geo_region' },
  { property: ['utm', 'campaign'] },
  { property: ['plan'] },
  { property: ['size'] },
  { property: ['missing'] },
  { property: ['$current_url'], part: 'page' },
  { visit: 'source' },
  { visit: 'channel' },
  { visit: 'landing_page' },
  { visit: 'device_type' },
  { visit: 'geo_city' },
  { person: { visit: 'source' }, seen: 'first' },
  { person: { property: ['utm', 'campaign'] }, seen: 'last' },
  { cohort: 'buyers' },
  { cohort: 'near' },
  { person: { visit: 'exit_page' }, seen: 'last' },
];

export function maybe<T>(random: Random, probability: number, make: () => T): T | undefined {
  return random.chance(probability) ? make() : undefined;
}

export function given<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

export function filters(random: Random): Filter[] {
  return Array.from({ length: random.whole(1, 2) }, () => anyFilter(random));
}

export function selection(random: Random, named = 0.9): Selection {
  return given({
    events: maybe(random, named, () => Array.from({ length: random.whole(1, 2) }, () => random.pick(NAMES))),
    filters: maybe(random, 0.2, () => filters(random)),
  });
}

export function range(random: Random): { from: number; to: number } {
  const from = FROM + random.whole(0, 5) * DAY_MS + random.whole(0, 1_000);
  return { from, to: TO - random.whole(0, 5) * DAY_MS };
}

/** A funnel of any kind. */
export function anyFunnel(random: Random): FunnelQuery {
  const chosen = Array.from({ length: random.whole(2, random.chance(0.1) ? 10 : 5) }, () => selection(random));
  const repeated = random.chance(0.2)
    ? chosen.map((step) => (random.chance(0.5) ? (chosen[0] ?? step) : step))
    : chosen;
  const order = random.pick(['ordered', 'ordered', 'strict', 'any'] as const);
  const countBy = random.pick(['person', 'person', 'session'] as const);
  const hasOptional = order !== 'any' && random.chance(0.4);
  const steps = repeated.map((step, index) =>
    hasOptional && index > 0 && index < repeated.length - 1 && random.chance(0.6) ? { ...step, optional: true } : step,
  );
  return given({
    ...range(random),
    steps,
    window_ms: random.pick([0, 1_000, 20 * 60_000, 6 * HOUR_MS, 3 * DAY_MS, 30 * DAY_MS, 30 * DAY_MS]),
    order: maybe(random, 0.9, () => order),
    count_by: maybe(random, 0.9, () => countBy),
    filters: maybe(random, 0.3, () => filters(random)),
    exclusions: maybe(random, 0.35, () =>
      Array.from({ length: random.whole(1, 2) }, () => exclusion(random, steps.length)),
    ),
    breakdown: maybe(random, 0.5, () => breakdown(random)),
    trend: maybe(random, 0.4, () => ({ interval: random.pick(['hour', 'day', 'week', 'month'] as const) })),
  }) as FunnelQuery;

  function exclusion(of: Random, last: number) {
    const after = of.whole(1, last - 1);
    const between =
      order !== 'any' && of.chance(0.5) ? { after_step: after, before_step: of.whole(after + 1, last) } : {};
    const ends = maybe(of, 0.5, () => of.pick(['way', 'actor', 'actor'] as const));
    return given({ events: [of.pick(NAMES)], ...between, ends });
  }

  function breakdown(of: Random) {
    const at = of.pick(['first_step', 'step', 'first_touch', 'last_touch'] as const);
    const isTouch = at === 'first_touch' || at === 'last_touch';
    const lookback = maybe(of, isTouch && countBy !== 'session' ? 0.5 : 0, () => of.whole(0, 4) * DAY_MS);
    const step = maybe(of, at === 'step' ? 1 : 0, () => of.whole(1, steps.length));
    return given({ field: of.pick(FIELDS), at, step, lookback_ms: lookback, limit: maybe(of, 0.2, () => 2) });
  }
}

/** A question of what goes with getting through a funnel. */
export function anyCorrelation(random: Random): CorrelationQuery {
  const { breakdown: _breakdown, trend: _trend, count_by: _by, ...funnel } = anyFunnel(random);
  return given({
    ...funnel,
    fields: maybe(random, 0.5, () => Array.from({ length: random.whole(1, 2) }, () => random.pick(FIELDS))),
    actors_min: maybe(random, 0.5, () => random.whole(1, 20)),
    limit: maybe(random, 0.2, () => 2),
  }) as CorrelationQuery;
}

/** A question of retention. */
export function anyRetention(random: Random): RetentionQuery {
  return given({
    ...range(random),
    interval: random.pick(['day', 'week', 'month'] as const),
    mode: maybe(random, 0.7, () => random.pick(['first', 'first_ever', 'recurring'] as const)),
    start: selection(random),
    back: selection(random, 0.6),
    filters: maybe(random, 0.3, () => filters(random)),
  }) as RetentionQuery;
}

/** A question of stickiness. */
export function anyStickiness(random: Random): StickinessQuery {
  return given({
    ...range(random),
    interval: random.pick(['day', 'week', 'month'] as const),
    series: Array.from({ length: random.whole(1, 3) }, () => selection(random, 0.8)),
    filters: maybe(random, 0.3, () => filters(random)),
  }) as StickinessQuery;
}

/** A question of a lifecycle, with something that happened before its time. */
export function anyLifecycle(random: Random): LifecycleQuery {
  const { from, to } = range(random);
  return given({
    from: from + random.whole(0, 15) * DAY_MS - random.whole(0, 1) * (from % DAY_MS),
    to,
    interval: random.pick(['day', 'week', 'month'] as const),
    events: selection(random, 0.8).events,
    filters: maybe(random, 0.3, () => filters(random)),
  }) as LifecycleQuery;
}

/** A question of top values. */
export function anyTop(random: Random): TopQuery {
  return given({
    ...range(random),
    field: random.pick(FIELDS),
    by: random.pick(['events', 'persons', 'value'] as const),
    events: selection(random, 0.5).events,
    filters: maybe(random, 0.3, () => filters(random)),
    limit: maybe(random, 0.3, () => 2),
  }) as TopQuery;
}

const VISIT_VALUES = [
  ...(['channel', 'source', 'medium', 'campaign', 'referrer', 'landing_page'] as const),
  ...(['exit_page', 'device_type', 'browser', 'geo_country', 'geo_region', 'geo_city'] as const),
] as const;

/** A question of visits. */
export function anyVisits(random: Random): VisitsQuery {
  return given({
    ...range(random),
    interval: maybe(random, 0.5, () => random.pick(['hour', 'day', 'week', 'month'] as const)),
    breakdown: maybe(random, 0.8, () =>
      given({ visit: random.pick(VISIT_VALUES), limit: maybe(random, 0.3, () => random.whole(1, 3)) }),
    ),
    conversions: maybe(random, 0.3, () => ({ events: [random.pick(NAMES)] })),
    attention: maybe(random, 0.5, () => random.chance(0.8)),
    filters: maybe(random, 0.3, () => filters(random)),
  }) as VisitsQuery;
}

/** Each cohort among those who are, or are not, in another; and each place and device of those of whom the last is known. */
const CUTS: readonly { field: Field; filters: Filter[] }[] = [
  ...COHORTS.map(({ id: cohort }, at) => ({
    field: { cohort },
    filters: [{ field: { cohort: COHORTS.at(at - 1)?.id ?? '' }, is: at % 2 === 0 ? 'in' : 'not_in' } as const],
  })),
  ...(['geo_country', 'geo_region', 'geo_city', 'browser', 'device_type'] as const).map((column) => ({
    field: { column },
    filters: [{ field: { person: { column }, seen: 'last' }, is: 'set' } as const],
  })),
];

const cuts = <Query>(make: (cut: (typeof CUTS)[number]) => Omit<Query, 'from' | 'to'>): Query[] =>
  CUTS.map((cut) => ({ from: FROM, to: TO, ...make(cut) }) as Query);

/** What every world is asked, whatever is drawn. */
export const CERTAIN = {
  funnel: cuts<FunnelQuery>(({ field, filters }) => ({
    ...{ steps: [{ events: ['page_view'] }, { events: ['purchase', 'refund'] }], window_ms: 3 * DAY_MS, filters },
    breakdown: { field, at: 'first_step' },
  })),
  trends: cuts<TrendsQuery>(({ field, filters }) => ({
    ...{ interval: 'month', series: [{}, { events: ['refund'], measure: { of: 'persons' } }], filters },
    breakdown: { field },
  })),
  retention: cuts<RetentionQuery>(({ filters }) => ({
    interval: 'week',
    start: {},
    back: { events: ['refund'] },
    filters,
  })),
  top: cuts<TopQuery>(({ field, filters }) => ({ field, by: 'persons', filters })),
  paths: cuts<PathsQuery>(({ field, filters }) => ({ ...('column' in field && { by: field }), filters, steps: 2 })),
  revenue: cuts<RevenueQuery>(({ field, filters }) => ({
    interval: 'month',
    filters,
    breakdown: { field },
    currency: 'EUR',
  })),
  visits: VISIT_VALUES.map((visit): VisitsQuery => ({ from: FROM, to: TO, breakdown: { visit } })),
};
