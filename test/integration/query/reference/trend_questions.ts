import type { Field } from '#pipelines/analytics/filters.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import { FIELDS, filters, given, maybe, range, selection } from './questions.ts';
import { FORMULAS } from './trends.ts';

const DAY_MS = 86_400_000;
const NUMBERS: readonly [Field, ...Field[]] = [
  { column: 'value' },
  { property: ['size'] },
  { property: ['margin'] },
  { property: ['plan'] },
];
const SIZE: Field = { property: ['size'] };
const EXACT = ['sum', 'average', 'min', 'max'] as const;
const NEARLY = ['median', 'p90', 'p99'] as const;

/** A question of trends. */
export function anyTrends(random: Random): TrendsQuery {
  const formulas = maybe(random, 0.3, () => [random.pick(Object.keys(FORMULAS) as [string, ...string[]])]);
  const rolling = maybe(random, 0.2, () => random.whole(2, 8));
  const interval = random.pick(['hour', 'day', 'week', 'month'] as const);
  const breakdown = maybe(random, 0.5, () => anyBreakdown(random, interval === 'hour' ? 1 : 0.5));
  const compare = maybe(random, 0.35, () =>
    random.pick(['previous', 'previous', 'year', ...(interval === 'month' ? [] : [{ days: 40 }])] as const),
  );
  // What is made of quantiles has their errors, so that only plain ones are compared.
  const nearly = formulas === undefined && rolling === undefined ? 0.25 : 0;
  const series = Array.from({ length: random.whole(formulas === undefined ? 1 : 2, 3) }, () =>
    given({ ...selection(random, 0.7), ...anyMeasure(random, nearly, breakdown !== undefined) }),
  );
  const { from, to } = range(random);
  return given({
    from: compare === undefined ? from : from + 20 * DAY_MS,
    to,
    interval,
    series,
    formulas,
    rolling,
    compare,
    breakdown,
    filters: maybe(random, 0.3, () => filters(random)),
    empty_intervals: maybe(random, 0.3, () => random.pick(['zeros', 'left_out'] as const)),
  }) as TrendsQuery;
}

/** Every hour of every value would be more than an answer may have. */
function anyBreakdown(random: Random, limited: number): TrendsQuery['breakdown'] {
  const of = random.chance(0.6)
    ? { field: random.pick(FIELDS) }
    : { fields: Array.from({ length: random.whole(1, 3) }, () => random.pick(FIELDS)) };
  return given({ ...of, limit: maybe(random, limited, () => 2) });
}

/** Values are ranked by what is measured: quantiles of whole numbers rank as these do, though they are not exact. */
function anyMeasure(random: Random, nearly: number, isRanked: boolean): Partial<TrendsQuery['series'][number]> {
  if (random.chance(0.2)) return {};
  if (random.chance(0.2)) return { sum: random.pick(NUMBERS) };
  if (random.chance(0.2)) return { measure: { of: random.pick(['events', 'persons'] as const) } };
  if (random.chance(0.2)) return { measure: { of: 'unique', field: random.pick(FIELDS) } };
  if (random.chance(nearly))
    return { measure: { of: random.pick(NEARLY), field: isRanked ? SIZE : random.pick(NUMBERS) } };
  return { measure: { of: random.pick(EXACT), field: random.pick(NUMBERS) } };
}
