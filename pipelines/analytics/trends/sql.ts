// Trends: the statement, the events of its series, and the question.

import { hasSmallCountValues } from '../personal_fields.ts';
import { EXAMPLE_TIME, question } from '../question.ts';
import {
  calendarSql,
  firstRowsSql,
  querySpan,
  SPILLED,
  spanBefore,
  startOf,
  type TimeSpan,
} from '../sql/event_rows.ts';
import {
  AMOUNT_MAX,
  AMOUNT_UNITS,
  conditionOf,
  numberOf,
  selects,
  slotOf,
  textOf,
  unitsOf,
} from '../sql/expressions.ts';
import { type Binder, createBinder, type Statement } from '../sql/statement.ts';
import { trendsAnswer, trendsAnswerShape } from './answer.ts';
import {
  type MeasureOf,
  QUANTILES,
  type TrendSeries,
  type TrendsPlan,
  trendsPlan,
  trendsProblems,
  trendsShape,
} from './query.ts';

/** How far a quantile may be from the value that has its rank, as a part of it. */
const QUANTILE_ERROR = 0.005;
/**
 * The statement of trends. Rows: TrendRow.
 *
 * @param minPersons Of a breakdown that can have values of few persons, those that fewer have in a series are with the rest.
 */
export function trendsStatement(siteId: string, plan: TrendsPlan, minPersons = 1): Statement {
  const binder = createBinder();
  const asked = querySpan(plan, binder);
  const spans: [TimeSpan] | [TimeSpan, TimeSpan] = plan.compares ? [asked, spanBefore(plan, binder)] : [asked];
  const all = seriesEventsSql(siteId, plan, spans, binder);
  const counted = plan.breakdown === null ? plainSql(plan, all) : byValueSql(plan, all, minPersons);
  const rows = plan.filled ? `SELECT * FROM (${counted}\nUNION ALL ${startsSql(plan, spans, binder)})` : counted;
  return binder.statement(`${rows}\n${SPILLED}`);
}

const hasQuantiles = ({ series }: TrendsPlan): boolean => series.some(({ measure }) => measure in QUANTILES);

function plainSql(plan: TrendsPlan, events: string): string {
  return `SELECT period, series, if(grouping(bucket) = 0, 'interval', 'all') AS kind, emptyArrayString() AS parts, 0 AS rest,
  0 AS texts, bucket, ${figuresSql(plan)}
FROM (SELECT period, series, bucket, ${statesSql(plan)} FROM (${events}) GROUP BY period, series, bucket)
GROUP BY GROUPING SETS ((period, series), (period, series, bucket))`;
}

/**
 * First the greatest values are found, then each event is counted under its value, or with the rest. A value is its digest, and
 * then the number of its place among the greatest, since groups of numbers take a fraction of the time of groups of texts.
 */
function byValueSql(plan: TrendsPlan, events: string, minPersons: number): string {
  const given = textNames(plan);
  const most = (plan.breakdown?.limit ?? 0) * plan.series.length;
  const slotted = givesAll(plan)
    ? `SELECT *, found AS slot FROM (${events})`
    : `WITH events AS (${events})
    SELECT *, ${slotOf(ofSeries(plan), greatestSql(plan, 'events', minPersons), most)} AS slot FROM events`;
  return `SELECT period, series, ${KIND} AS kind, if(slot = 0, emptyArrayString(), [${given.map((name) => `any(${name})`).join(', ')}]) AS parts,
  grouping(slot) = 0 AND slot = 0 AS rest, uniqExactMerge(restValues) AS texts, bucket, ${figuresSql(plan)}
FROM (SELECT period, series, slot, bucket, ${given.map((name) => `any(${name}) AS ${name}`).join(', ')}, uniqExactStateIf(found, slot = 0) AS restValues,
    ${statesSql(plan)}
  FROM (${slotted})
  GROUP BY period, series, slot, bucket)
GROUP BY GROUPING SETS ((period, series), (period, series, bucket), (period, series, slot), (period, series, slot, bucket))`;
}

/**
 * Whether every value is given one by one, so that none are the greatest: of cohorts, as somebody is in one or not. With a time
 * before, or for formulas, a value that the time or the first series does not have is one of the rest.
 */
const givesAll = ({ breakdown, compares }: TrendsPlan): boolean =>
  breakdown !== null &&
  !compares &&
  breakdown.rankedBy === 'each' &&
  breakdown.fields.every((field) => 'cohort' in field) &&
  2 ** breakdown.fields.length <= breakdown.limit;

/** What is looked for among the greatest values: those of each series are its own, or all have those of the first. */
const ofSeries = ({ breakdown }: TrendsPlan, found = 'found'): string =>
  breakdown?.rankedBy === 'first' ? found : `cityHash64(series, ${found})`;

/** Whether an event of a series is of a value that is not given one by one; over what seriesEventsSql selects. */
export function isRestSql(siteId: string, plan: TrendsPlan, binder: Binder): string {
  const asked = seriesEventsSql(siteId, plan, [querySpan(plan, binder)], binder);
  return `${ofSeries(plan)} NOT IN (${greatestSql(plan, `(${asked})`)})`;
}

const KIND = `multiIf(grouping(slot) = 0 AND grouping(bucket) = 0, 'value_interval', grouping(slot) = 0, 'value',
  grouping(bucket) = 0, 'interval', 'all')`;

/** The values that are given one by one, as ofSeries has them, of what `events` names or selects in parentheses. */
function greatestSql(plan: TrendsPlan, events: string, minPersons = 1): string {
  const { limit = 0, rankedBy = 'each', fields = [] } = plan.breakdown ?? {};
  const ranked = rankedBy === 'first' ? plan.series.slice(0, 1) : plan.series;
  const ranks = ranked.map(({ rank }, index) => `series = ${index + 1}, ${RANKS[rank]}`);
  const texts = textNames(plan).map((name) => `any(${name})`);
  const isCut = minPersons > 1 && fields.some(hasSmallCountValues);
  const having = isCut ? ` HAVING uniqExact(person) >= ${minPersons} OR arrayAll(part -> empty(part), parts)` : '';
  const groups = `SELECT series, found, [${texts.join(', ')}] AS parts, ifNull(multiIf(${ranks.join(', ')}, 0), -inf) AS amountRanked
  FROM ${events} WHERE NOT period AND series <= ${ranked.length} GROUP BY series, found${having}`;
  return `SELECT arrayJoin(arrayMap(one -> ${ofSeries(plan, 'one.3')}, groupArraySorted(${limit})((-amountRanked, parts, found)))) FROM (${groups}) GROUP BY series`;
}

/**
 * Numbers for the digest of quantiles, in millionths and 0 below one: its size grows with the range of the numbers, and
 * ClickHouse 26.7 has three times the error for numbers between 0 and 1, as it rounds their logarithms towards 0.
 */
const DIGESTED = `if(abs(amount) * ${AMOUNT_UNITS} < 1, 0, amount * ${AMOUNT_UNITS})`;
const quantileOf = (level: number): string => `quantileDD(${QUANTILE_ERROR}, ${level})(${DIGESTED})`;
const SUM = `toFloat64(sum(${unitsOf('amount')}))`;

/** What values are put in order by, as a number that can be NULL. */
const RANKS: Record<MeasureOf, string> = {
  events: 'toFloat64(count())',
  persons: 'toFloat64(uniqExact(person))',
  sum: SUM,
  average: `${SUM} / nullIf(count(amount), 0)`,
  min: 'min(amount)',
  max: 'max(amount)',
  median: `if(count(amount) > 0, ${quantileOf(QUANTILES.median)}, NULL)`,
  p90: `if(count(amount) > 0, ${quantileOf(QUANTILES.p90)}, NULL)`,
  p99: `if(count(amount) > 0, ${quantileOf(QUANTILES.p99)}, NULL)`,
  unique: 'toFloat64(uniqExact(digest))',
};

const LEVELS = Object.values(QUANTILES).join(', ');

/**
 * Of the events of one interval what figuresSql makes figures of. Events are counted once into the smallest groups there are;
 * the greater ones come of these, as counting each event into all of them takes longer than reading it.
 */
function statesSql(plan: TrendsPlan): string {
  return [
    'count() AS ofEvents',
    'uniqExactState(person) AS ofPersons',
    ...(hasAmounts(plan)
      ? [
          `sum(${unitsOf('amount')}) AS ofUnits`,
          'count(amount) AS ofNumbers',
          'min(amount) AS ofLeast',
          'max(amount) AS ofMost',
        ]
      : []),
    ...(hasQuantiles(plan) ? [`quantilesDDState(${QUANTILE_ERROR}, ${LEVELS})(${DIGESTED}) AS ofQuantiles`] : []),
    ...(hasUniques(plan) ? ['uniqExactState(digest) AS ofUniques'] : []),
  ].join(', ');
}

/** The columns of a TrendRow that are counted; constants for what no series measures. */
function figuresSql(plan: TrendsPlan): string {
  const amounts = hasAmounts(plan)
    ? 'toString(sum(ofUnits)) AS units, sum(ofNumbers) AS numbers, min(ofLeast) AS least, max(ofMost) AS most'
    : `'0' AS units, 0 AS numbers, NULL AS least, NULL AS most`;
  const quantiles = hasQuantiles(plan)
    ? `arrayMap(x -> x / ${AMOUNT_UNITS}, quantilesDDMerge(${QUANTILE_ERROR}, ${LEVELS})(ofQuantiles))`
    : '[]';
  const uniques = hasUniques(plan) ? 'uniqExactMerge(ofUniques)' : '0';
  return `sum(ofEvents) AS events, uniqExactMerge(ofPersons) AS persons, ${amounts}, ${quantiles} AS quantiles, ${uniques} AS uniques`;
}

/** A row for each interval of the times, also one without events. */
function startsSql(plan: TrendsPlan, spans: readonly TimeSpan[], binder: Binder): string {
  return `SELECT period, 0, 'start', emptyArrayString(), 0, 0, bucket, 0, 0, '0', 0, NULL, NULL, [], 0
FROM (${calendarSql(spans, plan, binder)})`;
}

/** Whether some series measures numbers, or different texts. */
const hasAmounts = ({ series }: TrendsPlan): boolean => series.some(({ number }) => number !== null);
const hasUniques = ({ series }: TrendsPlan): boolean => series.some(({ unique }) => unique !== null);

/** The names of the columns with the texts of a breakdown's fields. */
const textNames = ({ breakdown }: TrendsPlan): string[] => (breakdown?.fields ?? []).map((_, index) => `text${index}`);

/** The digest of a value of a breakdown: of the texts of its fields. */
export const digestOfValue = (texts: readonly string[]): string => `cityHash64(${texts.join(', ')})`;

/**
 * A row for each series that an event is of: `series`, `period`, `bucket`, `person`, what is measured (`amount`, `digest`),
 * and with a breakdown `found`, the digest of its value, and `text0`.., its texts.
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
    bucket: startOf(plan.interval, 'timestamp', plan.calendar, binder),
    ...valueColumns(plan, binder),
    ...measuredColumns(plan, name, binder),
    ...more,
  };
  const rows = firstRowsSql(
    {
      siteId,
      span: { ...(before ?? span), to: span.to },
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
  const found = saysFoundLater(plan) ? [`${digestOfValue(textNames(plan))} AS found`] : [];
  if (name !== null) return found.length === 0 ? rows : `SELECT *, ${found.join()} FROM (${rows})`;
  const measured = [
    ...(hasAmounts(plan) ? ['amount[series] AS amount'] : []),
    ...(hasUniques(plan) ? ['digest[series] AS digest'] : []),
  ];
  const others = Object.keys(columns).filter((column) => !['matched', 'amount', 'digest'].includes(column));
  return `SELECT series, ${[...others, ...found, ...measured].join(', ')}
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
  return { ...(saysFoundLater(plan) ? {} : { found: digestOfValue(texts) }), ...Object.fromEntries(named) };
}

/** Who is in a cohort is long, and would be analysed once more for the digest. */
const saysFoundLater = ({ breakdown }: TrendsPlan): boolean =>
  breakdown?.fields.some((field) => 'cohort' in field) === true;

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

/** Figures by interval. */
export const trends = question({
  kind: 'trends',
  summary: 'Events, persons and what their numbers come to, by interval, with formulas over them',
  schema: trendsShape,
  answerSchema: trendsAnswerShape,
  check: trendsProblems,
  example: {
    ...EXAMPLE_TIME,
    interval: 'day',
    time_zone: 'Europe/Brussels',
    series: [
      { events: ['purchase'], measure: { of: 'average', field: { column: 'value' } } },
      { events: ['page_view'] },
    ],
    formulas: ['A / B * 1000'],
    breakdown: { fields: [{ column: 'country' }, { property: ['utm_campaign'] }], limit: 10 },
    compare: 'previous',
    rolling: 7,
  },
  statement: (siteId, query, minPersons) => trendsStatement(siteId, trendsPlan(query), minPersons),
  answer: trendsAnswer,
  suppressesSmallCounts: true,
});
