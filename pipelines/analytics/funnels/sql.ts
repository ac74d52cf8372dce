// Funnels: the statement, as docs/analytics.md defines it, and the question.

import { EXAMPLE_TIME, question } from '../question.ts';
import { startOf } from '../sql/event_rows.ts';
import { type Binder, createBinder, type Statement } from '../sql/statement.ts';
import { actorsSql, anyOrder, breakdownTextsSql, inOrder, type Levels, PLACE_BITS } from './levels_sql.ts';
import {
  type FunnelPlan,
  funnelAnswer,
  funnelAnswerShape,
  funnelPlan,
  funnelProblems,
  funnelShape,
  TIME_CLASSES_MS,
} from './query.ts';

/**
 * The statement of a funnel, as docs/analytics.md defines it. Rows: FunnelRow.
 *
 * @param minPersons Of a breakdown that can have values of few persons, those that fewer have are with the rest.
 */
export function funnelStatement(siteId: string, plan: FunnelPlan, minPersons = 1): Statement {
  const { breakdown, trend } = plan;
  const binder = createBinder();
  const attempts = attemptsSql(siteId, plan, binder, { isTimed: true });
  if (breakdown === null && trend === null) {
    return binder.statement(
      `SELECT 'all' AS kind, 0 AS texts, '' AS text, 0 AS bucket, ${figuresSql()}\nFROM (${attempts}) HAVING count() > 0`,
    );
  }
  if (breakdown !== null) {
    const texts = breakdownTextsSql(siteId, plan, binder, minPersons);
    return binder.statement(byValueSql(plan, breakdown.limit, attempts, texts));
  }
  return binder.statement(`SELECT ${kindSql(plan)} AS kind, 0 AS texts, '' AS text, bucket, ${figuresSql()}
FROM (${attempts})
GROUP BY GROUPING SETS ((), (bucket)) HAVING count() > 0
ORDER BY kind, bucket LIMIT ${plan.groupsMax} BY kind`);
}

/** The median over several values cannot be made from their medians, so aggregate states are merged. */
function byValueSql(plan: FunnelPlan, limit: number, attempts: string, texts: string): string {
  const { trend } = plan;
  const sets = ['()', '(value)', ...(trend === null ? [] : ['(bucket)'])];
  const states = AGGREGATES.map(([name, values], index) => `${withSuffix(name, 'State')}(${values}) AS s${index}`);
  const counted = `SELECT ${kindSql(plan)} AS of_kind, value, ${trend === null ? '0 AS bucket' : 'bucket'}, count() AS began,
  ${states.join(', ')}
FROM (${attempts}) GROUP BY GROUPING SETS (${sets.join(', ')}) HAVING began > 0`;
  const groups = `SELECT counted.*, texts.text AS of_text FROM (${counted}) AS counted LEFT JOIN (${texts}) AS texts ON counted.value = texts.digest`;
  // A value without a text, as few persons have it.
  const isFew = 'value != 0 AND empty(of_text)';
  const isRest = `of_kind = 'value' AND (${isFew} OR row_number() OVER (PARTITION BY of_kind ORDER BY ${isFew}, began DESC, of_text) > ${limit})`;
  const merged = AGGREGATES.map(([name], index) => `${withSuffix(name, 'Merge')}(s${index})`);
  return `SELECT kind, text, bucket, count() AS texts, ${figuresOf(merged)}
FROM (SELECT *, ${isRest} AS is_rest, if(is_rest, 'other', of_kind) AS kind, if(is_rest, '', of_text) AS text FROM (${groups}))
GROUP BY kind, text, bucket
ORDER BY kind, sum(began) DESC, text, bucket LIMIT ${plan.groupsMax} BY kind`;
}

function kindSql({ breakdown, trend }: FunnelPlan): string {
  const inTrend = trend === null ? 'false' : 'grouping(bucket) = 0';
  const inBreakdown = breakdown === null ? 'false' : 'grouping(value) = 0';
  return `multiIf(${inTrend}, 'interval', ${inBreakdown}, 'value', 'all')`;
}

/**
 * The attempt of each actor that reached the most steps: `reached`, and where it `isTimed` `took` and `between`, have an element
 * for each step.
 * A column over events is one of a SELECT of its own, as an alias is worked out anew wherever it is named.
 *
 * @param more Other columns, over the same: `place1`.. are where in `packed`, if that is kept, the steps were reached.
 */
export function attemptsSql(
  siteId: string,
  plan: FunnelPlan,
  binder: Binder,
  {
    isTimed = false,
    more = [],
    kept = [],
  }: { isTimed?: boolean; more?: readonly string[]; kept?: readonly 'packed'[] },
): string {
  const actors = actorsSql(siteId, plan, binder, kept);
  const { overEvents, ofPlaces, ofWays, ofTimes, dropped } = levelColumns(plan, binder);
  const times = isTimed ? [...ofTimes, ...timeColumns(plan)] : [];
  const events = overEvents.reduce((from, columns) => `SELECT *, ${columns.join(',\n  ')}\nFROM (${from})`, actors);
  return `SELECT ${[...kept, ...ofWays, ...attemptColumns(plan, binder), ...times, ...more].join(',\n  ')}
FROM (SELECT *, ${ofPlaces.join(',\n  ')}
FROM (${events})${dropped === null ? '' : ` WHERE NOT ${dropped}`}) WHERE reached[1]`;
}

/** An array of what the columns have that are named so and by the steps. */
type Each = (name: string) => string;
const eachOf =
  ({ steps }: FunnelPlan): Each =>
  (name) =>
    `[${steps.map((_, index) => `${name}${index + 1}`).join(', ')}]`;

function attemptColumns(plan: FunnelPlan, binder: Binder): string[] {
  const { breakdown, trend } = plan;
  const each = eachOf(plan);
  const starts = each('start');
  const began = `fromUnixTimestamp64Milli(toInt64(${timeOf(`${starts}[${LAST}]`)}), 'UTC')`;
  return [
    `arrayMap(x -> x > 0, ${starts}) AS reached`,
    ...(breakdown === null ? [] : [`${valueAt(breakdown.at, each)} AS value`]),
    ...(trend === null ? [] : [`${startOf(trend.interval, began, trend.calendar, binder)} AS bucket`]),
  ];
}

function timeColumns(plan: FunnelPlan): string[] {
  const each = eachOf(plan);
  const since = (sooner: string): string =>
    `arrayMap((later, sooner) -> ${timeOf('later')} - ${timeOf('sooner')}, ${each('end')}, ${each(sooner)})`;
  const last = plan.steps.length;
  return [
    `${since('start')} AS took`,
    `${since('previous')} AS between`,
    `if(reached[${last}], took[${last}], ${NEVER}) AS whole`,
  ];
}

/** The last step that an attempt reached. */
const LAST = 'arrayLastIndex(x -> x, reached)';

const timeOf = (stamp: string): string => `bitShiftRight(${stamp}, ${PLACE_BITS})`;

/**
 * The digest of the text at the beginning of the attempt that reached the last step, at its event of a step (none where it has
 * none), or of the first or last text until its end.
 */
function valueAt(at: NonNullable<FunnelPlan['breakdown']>['at'], each: Each): string {
  if (at === 'first_step') return `digests[bitAnd(${each('start')}[${LAST}], ${2 ** PLACE_BITS - 1})]`;
  if (at === 'step') return `digests[${each('at')}[${LAST}]]`;
  const find = at === 'first_touch' ? 'arrayFirst' : 'arrayLast';
  return `${find}(x -> x != 0, arraySlice(digests, 1, ${each('place')}[${LAST}]))`;
}

/** Longer than any way, and the time of those that did not get to the last step. */
const LONGEST = 'toUInt64(-2)';
const NEVER = 'toUInt64(-1)';

/** Whether an attempt reached the last step within the time of each class; the last class has no limit. */
const CLASSED = `arrayMap(x -> whole <= x, [${[...TIME_CLASSES_MS, LONGEST].join(', ')}])`;

/**
 * Eight aggregates over arrays and not seven for each step: ClickHouse takes longer to analyse an aggregate than to count what
 * it is given here. Each with what it is given.
 */
const AGGREGATES: readonly [name: string, values: string][] = [
  ['sumForEach', 'reached'],
  ['sumIfForEach', 'took, reached'],
  ['quantilesExactIfForEach(0.5, 0.9)', 'took, reached'],
  ['minIfForEach', 'took, reached'],
  ['maxIfForEach', 'took, reached'],
  ['sumForEach', CLASSED],
  ['sumIfForEach', 'between, reached'],
  ['quantilesExactIfForEach(0.5, 0.9)', 'between, reached'],
];

/** An aggregate that makes or merges states, with its parameters after its name. */
const withSuffix = (name: string, suffix: string): string => name.replace(/^\w+/, `$&${suffix}`);

const figuresSql = (): string => figuresOf(AGGREGATES.map(([name, values]) => `${name}(${values})`));

/** `steps`, a StepFigures of each, and `times`, from the aggregates. */
function figuresOf(aggregated: readonly string[]): string {
  const [reached, took, quantiles, least, most, times, between, betweenQuantiles] = aggregated;
  const asText = (sums: string | undefined): string => `arrayMap(x -> toString(x), ${sums})`;
  const figures = [reached, asText(took), quantiles, least, most, asText(between), betweenQuantiles].join(', ');
  return `arrayZip(${figures}) AS steps, ${times} AS times`;
}

function levelColumns(plan: FunnelPlan, binder: Binder): Levels {
  const span = spanOf(plan, binder);
  return plan.order === 'any' ? anyOrder(plan, span) : inOrder(plan, span);
}

/** Two stamps lie in the window when the later one is less than this greater: a step of a millisecond is 2^20 of it. */
export function spanOf(plan: FunnelPlan, binder: Binder): string {
  return binder.bind(String(BigInt(plan.windowMs + 1) << BigInt(PLACE_BITS)), 'UInt64');
}

/** How many get from step to step. */
export const funnel = question({
  kind: 'funnel',
  summary: 'How many persons or sessions get from step to step, how long it takes, and by what they came',
  schema: funnelShape,
  answerSchema: funnelAnswerShape,
  check: funnelProblems,
  example: {
    ...EXAMPLE_TIME,
    steps: [
      { events: ['page_view'] },
      { events: ['add_to_cart'] },
      { events: ['purchase'], filters: [{ field: { column: 'value' }, is: 'at_least', to: 20 }] },
    ],
    window_ms: 7 * 86_400_000,
    breakdown: { field: { property: ['utm_campaign'] }, at: 'first_touch' },
  },
  statement: (siteId, query, minPersons) => funnelStatement(siteId, funnelPlan(query), minPersons),
  answer: funnelAnswer,
  suppressesSmallCounts: true,
});
