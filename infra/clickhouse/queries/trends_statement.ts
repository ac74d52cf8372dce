import { AMOUNT_UNITS } from '#pipelines/query/amounts.ts';
import { type MeasureOf, QUANTILES, type TrendSeries, type TrendsPlan } from '#pipelines/query/trends.ts';
import { conditionOf, numberOf, selects, textOf } from './conditions.ts';
import { AMOUNT_MAX, unitsOf } from './exact_amounts.ts';
import { firstRowsSql, SPILLED } from './first_rows.ts';
import { askedSpan, calendarSql, spanBefore, startOf, type TimeSpan } from './interval_starts.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

/** How far a quantile may be from the value that has its rank, as a part of it. */
const QUANTILE_ERROR = 0.005;
/** The statement of trends. Rows: TrendRow. */
export function trendsStatement(siteId: string, plan: TrendsPlan): Statement {
  const binder = createBinder();
  const spans = [askedSpan(plan, binder), ...(plan.compares ? [spanBefore(plan, binder)] : [])];
  const events = spans.map((span) => seriesEventsSql(siteId, plan, span, binder));
  const all = events.map((sql, period) => `SELECT ${period} AS period, * FROM (${sql})`).join('\nUNION ALL ');
  const counted = plan.breakdown === null ? plainSql(plan, all) : byValueSql(plan, all, events[0] ?? '');
  const calendars = plan.filled ? spans.map((span, period) => startsSql(plan, period, span, binder)) : [];
  return binder.statement(`SELECT * FROM (${[counted, ...calendars].join('\nUNION ALL ')})\n${SPILLED}`);
}

/**
 * A row for each series that an event is of: `series`, `bucket`, `person`, with a breakdown `parts`, and what is measured.
 *
 * @param more Other columns: expressions over event_rows by the names they are given.
 */
export function seriesEventsSql(
  siteId: string,
  plan: TrendsPlan,
  span: TimeSpan,
  binder: Binder,
  more: Readonly<Record<string, string>> = {},
): string {
  const isOne = plan.series.length === 1;
  const conditions = plan.series.map((series) => selects(series, binder));
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const columns = {
    person: 'actor',
    bucket: startOf(plan.interval, 'timestamp', plan.timeZone, binder),
    ...(plan.breakdown === null ? {} : { parts: listOf(plan.breakdown.fields.map((field) => textOf(field, binder))) }),
    ...(isOne ? {} : { matched: listOf(conditions.map((condition) => `toBool(${condition})`)) }),
    ...measuredColumns(plan, binder),
    ...more,
  };
  const rows = firstRowsSql(
    { siteId, span, selections: plan.series, conditions: [...filters, `(${conditions.join(' OR ')})`], columns },
    binder,
  );
  const measured = [
    ...(plan.breakdown === null ? [] : ['parts']),
    ...(hasAmounts(plan) ? [`amounts${isOne ? '' : '[series]'} AS amount`] : []),
    ...(hasUniques(plan) ? [`digests${isOne ? '' : '[series]'} AS digest`] : []),
  ];
  const names = ['bucket', 'person', ...measured, ...Object.keys(more)].join(', ');
  // Events of one series need no list of those that they are of, which would take longer than reading them.
  if (isOne) return `SELECT toUInt32(1) AS series, ${names} FROM (${rows})`;
  return `SELECT series, ${names}
FROM (${rows}) ARRAY JOIN arrayEnumerate(matched) AS series WHERE matched[series]`;
}

/** Of each series the number, or the digest of the text, that it measures of an event; of one series itself, of several a list. */
function measuredColumns(plan: TrendsPlan, binder: Binder): Record<string, string> {
  const of = (each: (series: TrendSeries, binder: Binder) => string): string => {
    const [first = '', ...others] = plan.series.map((one) => each(one, binder));
    return others.length === 0 ? first : listOf([first, ...others]);
  };
  return {
    ...(hasAmounts(plan) ? { amounts: of(amountOf) } : {}),
    ...(hasUniques(plan) ? { digests: of(digestOf) } : {}),
  };
}

const listOf = (expressions: readonly string[]): string => `[${expressions.join(', ')}]`;
const hasAmounts = ({ series }: TrendsPlan): boolean => series.some(({ number }) => number !== null);
const hasUniques = ({ series }: TrendsPlan): boolean => series.some(({ unique }) => unique !== null);
const hasQuantiles = ({ series }: TrendsPlan): boolean => series.some(({ measure }) => measure in QUANTILES);

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

function plainSql(plan: TrendsPlan, events: string): string {
  return `SELECT period, series, if(grouping(bucket) = 0, 'interval', 'all') AS kind, emptyArrayString() AS parts, 0 AS rest,
  0 AS texts, bucket, ${figuresSql(plan)}
FROM (SELECT period, series, bucket, ${statesSql(plan)} FROM (${events}) GROUP BY period, series, bucket)
GROUP BY GROUPING SETS ((period, series), (period, series, bucket))`;
}

/**
 * First the greatest values are found, then each event is counted under its value, or with the rest. A value is the number of
 * its place among the greatest until the counting is done, since groups of numbers take a fraction of the time of groups of texts.
 */
function byValueSql(plan: TrendsPlan, events: string, asked: string): string {
  const [value, digest] =
    plan.breakdown?.rankedBy === 'first'
      ? ['slots[slot]', 'partsDigest']
      : ['slots[slot].2', 'cityHash64(series, parts)'];
  const slotDigest = plan.breakdown?.rankedBy === 'first' ? 'cityHash64(x)' : 'cityHash64(x.1, x.2)';
  return `WITH (SELECT groupArray(value) FROM (${greatestSql(plan, asked)})) AS slots,
  arrayPushBack(arrayMap(x -> ${slotDigest}, slots), 0) AS slotDigests
SELECT period, series, ${KIND} AS kind, if(slot = 0, emptyArrayString(), ${value}) AS parts, grouping(slot) = 0 AND slot = 0 AS rest,
  uniqExactMerge(restTexts) AS texts, bucket, ${figuresSql(plan)}
FROM (SELECT period, series, slot, bucket, uniqExactStateIf(partsDigest, slot = 0) AS restTexts, ${statesSql(plan)}
  FROM (SELECT *, cityHash64(parts) AS partsDigest,
    transform(${digest}, slotDigests, arrayPushBack(arrayPopBack(arrayEnumerate(slotDigests)), 0), 0) AS slot FROM (${events}))
  GROUP BY period, series, slot, bucket)
GROUP BY GROUPING SETS ((period, series), (period, series, bucket), (period, series, slot), (period, series, slot, bucket))`;
}

/** Whether an event of a series is of a value that is not given one by one; over what seriesEventsSql selects. */
export function isRestSql(siteId: string, plan: TrendsPlan, binder: Binder): string {
  return isRestOf(plan, seriesEventsSql(siteId, plan, askedSpan(plan, binder), binder));
}

function isRestOf(plan: TrendsPlan, asked: string): string {
  const value = plan.breakdown?.rankedBy === 'first' ? 'parts' : '(series, parts)';
  return `${value} NOT IN (${greatestSql(plan, asked)})`;
}

const KIND = `multiIf(grouping(slot) = 0 AND grouping(bucket) = 0, 'value_interval', grouping(slot) = 0, 'value',
  grouping(bucket) = 0, 'interval', 'all')`;

/** The values that are given one by one: of each series its own, or for all of them those of the first. */
function greatestSql(plan: TrendsPlan, events: string): string {
  const { limit = 0, rankedBy = 'each' } = plan.breakdown ?? {};
  const ranked = rankedBy === 'first' ? plan.series.slice(0, 1) : plan.series;
  const ranks = ranked.map(({ rank }, index) => `series = ${index + 1}, ${RANKS[rank]}`);
  const groups = `SELECT series, parts, ifNull(multiIf(${ranks.join(', ')}, 0), -inf) AS amountRanked
  FROM (${events}) WHERE series <= ${ranked.length} GROUP BY series, parts`;
  return `SELECT ${rankedBy === 'first' ? 'greatest.2' : '(series, greatest.2)'} AS value
FROM (SELECT series, arrayJoin(groupArraySorted(${limit})((-amountRanked, parts))) AS greatest FROM (${groups}) GROUP BY series)`;
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

/** A row for each interval of a time, also one without events. */
function startsSql(plan: TrendsPlan, period: number, span: TimeSpan, binder: Binder): string {
  return `SELECT ${period}, 0, 'start', emptyArrayString(), 0, 0, bucket, 0, 0, '0', 0, NULL, NULL, [], 0
FROM (${calendarSql(span, plan, binder)})`;
}
