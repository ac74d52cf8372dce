import type { TrendSeries, TrendsPlan } from '#pipelines/query/trends.ts';
import { conditionOf, numberOf, selects, textOf } from './conditions.ts';
import { AMOUNT_MAX } from './exact_amounts.ts';
import { firstRowsSql } from './first_rows.ts';
import { startOf, type TimeSpan } from './interval_starts.ts';
import type { Binder } from './statement.ts';

/** Whether some series measures numbers, or different texts. */
export const hasAmounts = ({ series }: TrendsPlan): boolean => series.some(({ number }) => number !== null);
export const hasUniques = ({ series }: TrendsPlan): boolean => series.some(({ unique }) => unique !== null);

/** The names of the columns with the texts of a breakdown's fields. */
export const textNames = ({ breakdown }: TrendsPlan): string[] =>
  (breakdown?.fields ?? []).map((_, index) => `text${index}`);

/** The digest of a value of a breakdown: of the texts of its fields. */
export const digestOfValue = (texts: readonly string[]): string => `cityHash64(${texts.join(', ')})`;

/**
 * A row for each series that an event is of: `series`, `period`, `bucket`, `person`, what is measured (`amount`, `digest`), and with a
 * breakdown `found`, the digest of its value, and `text0`.., its texts.
 *
 * @param spans The question's time and, where there is one, the time before, as `period` 0 and 1; they have no event in common.
 * @param more Other columns: expressions over event_rows by the names they are given.
 */
export function seriesEventsSql(
  siteId: string,
  plan: TrendsPlan,
  [span, before]: readonly [TimeSpan, TimeSpan?],
  binder: Binder,
  more: Readonly<Record<string, string>> = {},
): string {
  const conditions = plan.series.map((series) => selects(series, binder));
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const byName = seriesByName(plan, binder);
  const name = byName === null ? null : binder.name(byName);
  const columns = {
    ...(name === null ? { matched: listOf(conditions.map((condition) => `toBool(${condition})`)) } : { series: name }),
    period: before === undefined ? '0' : `timestamp < ${span.from}`,
    person: 'actor',
    bucket: startOf(plan.interval, 'timestamp', plan.timeZone, binder),
    ...valueColumns(plan, binder),
    ...measuredColumns(plan, name, binder),
    ...more,
  };
  const rows = firstRowsSql(
    {
      siteId,
      span: { from: before?.from ?? span.from, to: span.to },
      selections: plan.series,
      conditions: [
        ...(before === undefined ? [] : [`(timestamp < ${before.to} OR timestamp >= ${span.from})`]),
        ...filters,
        `(${conditions.join(' OR ')})`,
      ],
      columns,
    },
    binder,
  );
  if (name !== null) return rows;
  const measured = [
    ...(hasAmounts(plan) ? ['amount[series] AS amount'] : []),
    ...(hasUniques(plan) ? ['digest[series] AS digest'] : []),
  ];
  const others = Object.keys(columns).filter((column) => !['matched', 'amount', 'digest'].includes(column));
  return `SELECT series, ${[...others, ...measured].join(', ')}
FROM (${rows}) ARRAY JOIN arrayEnumerate(matched) AS series WHERE matched[series]`;
}

/**
 * The number of the series that an event is of, where it can be of one only and its name says of which; else null: a list of
 * those that each event is of takes longer to make than reading it.
 */
function seriesByName({ series }: TrendsPlan, binder: Binder): string | null {
  if (series.length === 1) return 'toUInt32(1)';
  const numbers = new Map<string, number>();
  for (const [index, { events, filters = [] }] of series.entries()) {
    if (events === undefined || filters.length > 0) return null;
    for (const name of new Set(events)) {
      if (numbers.has(name)) return null;
      numbers.set(name, index + 1);
    }
  }
  return `transform(event, ${binder.bind([...numbers.keys()], 'Array(String)')}, [${[...numbers.values()].map((one) => `toUInt32(${one})`).join(', ')}], toUInt32(0))`;
}

function valueColumns(plan: TrendsPlan, binder: Binder): Record<string, string> {
  if (plan.breakdown === null) return {};
  const texts = plan.breakdown.fields.map((field) => textOf(field, binder));
  const named = textNames(plan).map((name, index) => [name, texts[index] ?? '']);
  return { found: digestOfValue(texts), ...Object.fromEntries(named) };
}

/** What the series measures that an event is of; where it may be of several a list, of each. */
function measuredColumns(plan: TrendsPlan, name: string | null, binder: Binder): Record<string, string> {
  const of = (each: (series: TrendSeries, binder: Binder) => string): string => {
    const [first = '', ...others] = plan.series.map((one) => each(one, binder));
    if (name === null) return listOf([first, ...others]);
    if (others.length === 0) return first;
    const choices = [first, ...others].map((one, index) => `${name} = ${index + 1}, ${one}`);
    return `multiIf(${choices.join(', ')}, NULL)`;
  };
  return {
    ...(hasAmounts(plan) ? { amount: of(amountOf) } : {}),
    ...(hasUniques(plan) ? { digest: of(digestOf) } : {}),
  };
}

const listOf = (expressions: readonly string[]): string => `[${expressions.join(', ')}]`;

/** NULL for what is not a number, or has more digits than sums are exact for. */
function amountOf({ number }: TrendSeries, binder: Binder): string {
  if (number === null) return 'NULL';
  const given = numberOf(number, binder);
  return `if(ifNull(abs(${given}) < ${AMOUNT_MAX}, false), ${given}, NULL)`;
}

/** NULL for the empty text, which is no value. */
function digestOf({ unique }: TrendSeries, binder: Binder): string {
  if (unique === null) return 'NULL';
  const text = textOf(unique, binder);
  return `if(empty(${text}), NULL, cityHash64(${text}))`;
}
