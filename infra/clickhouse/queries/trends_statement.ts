import { AMOUNT_UNITS } from '#pipelines/query/amounts.ts';
import { hasValuesOfFew } from '#pipelines/query/personal_fields.ts';
import { type MeasureOf, QUANTILES, type TrendsPlan } from '#pipelines/query/trends.ts';
import { unitsOf } from './exact_amounts.ts';
import { SPILLED } from './first_rows.ts';
import { askedSpan, calendarSql, spanBefore, type TimeSpan } from './interval_starts.ts';
import { hasAmounts, hasUniques, seriesEventsSql, textNames } from './series_events.ts';
import { slotOf } from './slots.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

/** How far a quantile may be from the value that has its rank, as a part of it. */
const QUANTILE_ERROR = 0.005;
/**
 * The statement of trends. Rows: TrendRow.
 *
 * @param leastPersons Of a breakdown that can have values of few persons, those that fewer have in a series are with the rest.
 */
export function trendsStatement(siteId: string, plan: TrendsPlan, leastPersons = 1): Statement {
  const binder = createBinder();
  const asked = askedSpan(plan, binder);
  const spans: [TimeSpan, TimeSpan?] = plan.compares ? [asked, spanBefore(plan, binder)] : [asked];
  const all = seriesEventsSql(siteId, plan, spans, binder);
  const counted = plan.breakdown === null ? plainSql(plan, all) : byValueSql(plan, all, leastPersons);
  const calendars = plan.filled
    ? spans.flatMap((span, period) => (span === undefined ? [] : startsSql(plan, period, span, binder)))
    : [];
  return binder.statement(`SELECT * FROM (${[counted, ...calendars].join('\nUNION ALL ')})\n${SPILLED}`);
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
function byValueSql(plan: TrendsPlan, events: string, leastPersons: number): string {
  const given = textNames(plan);
  const most = (plan.breakdown?.limit ?? 0) * plan.series.length;
  return `SELECT period, series, ${KIND} AS kind, if(slot = 0, emptyArrayString(), [${given.map((name) => `any(${name})`).join(', ')}]) AS parts,
  grouping(slot) = 0 AND slot = 0 AS rest, uniqExactMerge(restValues) AS texts, bucket, ${figuresSql(plan)}
FROM (SELECT period, series, slot, bucket, ${given.map((name) => `any(${name}) AS ${name}`).join(', ')}, uniqExactStateIf(found, slot = 0) AS restValues,
    ${statesSql(plan)}
  FROM (WITH events AS (${events})
    SELECT *, ${slotOf(ofSeries(plan), `SELECT of FROM (${greatestSql(plan, 'events', leastPersons)})`, most)} AS slot FROM events)
  GROUP BY period, series, slot, bucket)
GROUP BY GROUPING SETS ((period, series), (period, series, bucket), (period, series, slot), (period, series, slot, bucket))`;
}

/** What is looked for among the greatest values: those of each series are its own, or all have those of the first. */
const ofSeries = ({ breakdown }: TrendsPlan): string =>
  breakdown?.rankedBy === 'first' ? 'found' : 'cityHash64(series, found)';

/** Whether an event of a series is of a value that is not given one by one; over what seriesEventsSql selects. */
export function isRestSql(siteId: string, plan: TrendsPlan, binder: Binder): string {
  const asked = seriesEventsSql(siteId, plan, [askedSpan(plan, binder)], binder);
  return `${ofSeries(plan)} NOT IN (SELECT of FROM (${greatestSql(plan, `(${asked})`)}))`;
}

const KIND = `multiIf(grouping(slot) = 0 AND grouping(bucket) = 0, 'value_interval', grouping(slot) = 0, 'value',
  grouping(bucket) = 0, 'interval', 'all')`;

/** The values that are given one by one, of what `events` names or selects in parentheses: `of`, by which ofSeries finds them, and `parts`, their texts. */
function greatestSql(plan: TrendsPlan, events: string, leastPersons = 1): string {
  const { limit = 0, rankedBy = 'each', fields = [] } = plan.breakdown ?? {};
  const ranked = rankedBy === 'first' ? plan.series.slice(0, 1) : plan.series;
  const ranks = ranked.map(({ rank }, index) => `series = ${index + 1}, ${RANKS[rank]}`);
  const texts = textNames(plan).map((name) => `any(${name})`);
  const isCut = leastPersons > 1 && fields.some(hasValuesOfFew);
  const having = isCut ? ` HAVING uniqExact(person) >= ${leastPersons} OR arrayAll(part -> empty(part), parts)` : '';
  const groups = `SELECT series, found, [${texts.join(', ')}] AS parts, ifNull(multiIf(${ranks.join(', ')}, 0), -inf) AS amountRanked
  FROM ${events} WHERE NOT period AND series <= ${ranked.length} GROUP BY series, found${having}`;
  return `SELECT greatest.3 AS found, ${ofSeries(plan)} AS of, greatest.2 AS parts
FROM (SELECT series, arrayJoin(groupArraySorted(${limit})((-amountRanked, parts, found))) AS greatest FROM (${groups}) GROUP BY series)`;
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
