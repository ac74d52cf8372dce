import { startOf } from './intervals.ts';
import { levelColumns } from './levels.ts';
import { actorsSql, PLACE_BITS } from './sequence.ts';
import type { FunnelQuery } from './shapes.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

/** Upper ends of the classes of the time from the first step to the last. */
export const TIME_CLASSES_MS = [
  60_000,
  10 * 60_000,
  3_600_000,
  6 * 3_600_000,
  86_400_000,
  3 * 86_400_000,
  7 * 86_400_000,
  14 * 86_400_000,
  30 * 86_400_000,
];

/** Values that are given one by one. */
const VALUES = 20;
/** Values of one answer, and intervals longer than an hour: 800 days fit. */
const GROUPS_MAX = 1_001;
const HOUR_MS = 3_600_000;

/** Figures of a step: `[reached, sum of the times as text, [median, p90], least, most]`. */
export type StepFigures = [number, string, [number, number], number, number];

/** One row of the answer: of everything, of a value of the breakdown, of all others together, or of an interval of the trend. */
export interface FunnelRow {
  kind: 'all' | 'value' | 'other' | 'interval';
  /** Of the row's attempts. */
  texts: number;
  text: string;
  bucket: number;
  steps: StepFigures[];
  times: number[];
}

/** The statement of a funnel, as docs/analytics.md defines it. Rows: FunnelRow. */
export function funnelStatement(siteId: string, query: FunnelQuery): Statement {
  const { breakdown, trend } = query;
  const binder = createBinder();
  const attempts = attemptsSql(siteId, query, binder);
  if (breakdown === undefined && trend === undefined) {
    return binder.statement(
      `SELECT 'all' AS kind, 0 AS texts, '' AS text, 0 AS bucket, ${figuresSql(query)}\nFROM (${attempts}) HAVING count() > 0`,
    );
  }
  if (breakdown !== undefined) return binder.statement(byValueSql(query, attempts));
  return binder.statement(`SELECT ${kindSql(query)} AS kind, 0 AS texts, '' AS text, bucket, ${figuresSql(query)}
FROM (${attempts})
GROUP BY GROUPING SETS ((), (bucket)) HAVING count() > 0
ORDER BY kind, bucket LIMIT ${groupsMax(query)} BY kind`);
}

/** Times of all values that are given together have a median of their own, so states are merged and not numbers added. */
function byValueSql(query: FunnelQuery, attempts: string): string {
  const { breakdown, trend } = query;
  const sets = ['()', '(text)', ...(trend === undefined ? [] : ['(bucket)'])];
  const states = aggregates(query).map(
    ([name, values], index) => `${withSuffix(name, 'State')}(${values}) AS state${index}`,
  );
  const groups = `SELECT ${kindSql(query)} AS of_kind, text AS of_text, ${trend === undefined ? '0 AS bucket' : 'bucket'}, count() AS began,
  ${states.join(', ')}
FROM (${attempts}) GROUP BY GROUPING SETS (${sets.join(', ')}) HAVING began > 0`;
  const isRest = `of_kind = 'value' AND row_number() OVER (PARTITION BY of_kind ORDER BY began DESC, of_text) > ${breakdown?.limit ?? VALUES}`;
  const merged = aggregates(query).map(([name], index) => `${withSuffix(name, 'Merge')}(state${index})`);
  return `SELECT kind, text, bucket, count() AS texts, ${figuresOf(merged)}
FROM (SELECT *, ${isRest} AS is_rest, if(is_rest, 'other', of_kind) AS kind, if(is_rest, '', of_text) AS text FROM (${groups}))
GROUP BY kind, text, bucket
ORDER BY kind, sum(began) DESC, text, bucket LIMIT ${groupsMax(query)} BY kind`;
}

/** No interval is left out of a trend: by the hour, 800 days are 19,200. */
function groupsMax({ from, to, trend }: FunnelQuery): number {
  return trend?.interval === 'hour' ? Math.max(GROUPS_MAX, Math.ceil((to - from) / HOUR_MS) + 1) : GROUPS_MAX;
}

function kindSql({ breakdown, trend }: FunnelQuery): string {
  const inTrend = trend === undefined ? 'false' : 'grouping(bucket) = 0';
  const inBreakdown = breakdown === undefined ? 'false' : 'grouping(text) = 0';
  return `multiIf(${inTrend}, 'interval', ${inBreakdown}, 'value', 'all')`;
}

/**
 * Of each actor that got to a step the attempt that got it furthest: `reached` and `took` have an element for each step.
 * A column over events is one of a SELECT of its own, as an alias is worked out anew wherever it is named.
 */
function attemptsSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const { overEvents, ofSteps } = levelColumns(query, binder);
  const texts = query.breakdown === undefined ? [] : ['texts'];
  return `SELECT ${[...ofSteps, ...attemptColumns(query, binder)].join(',\n  ')}
FROM (SELECT ${['stamp', ...texts, ...overEvents].join(',\n  ')}
FROM (${actorsSql(siteId, query, binder)})) WHERE reached[1]`;
}

function attemptColumns({ steps, breakdown, trend }: FunnelQuery, binder: Binder): string[] {
  const each = (of: (step: number) => string): string => `[${steps.map((_, index) => of(index + 1)).join(', ')}]`;
  const starts = each((step) => `start${step}`);
  const places = each((step) => `place${step}`);
  const ends = each((step) => `stamp[place${step}]`);
  const began = `fromUnixTimestamp64Milli(toInt64(${timeOf(`${starts}[arrayCount(reached)]`)}), 'UTC')`;
  return [
    `arrayMap(x -> x > 0, ${starts}) AS reached`,
    `arrayMap((end, start) -> ${timeOf('end')} - ${timeOf('start')}, ${ends}, ${starts}) AS took`,
    ...(breakdown === undefined ? [] : [`${textAt(breakdown.at, starts, places)} AS text`]),
    ...(trend === undefined ? [] : [`${startOf(trend.interval, began, trend.time_zone ?? 'UTC', binder)} AS bucket`]),
  ];
}

const timeOf = (stamp: string): string => `bitShiftRight(${stamp}, ${PLACE_BITS})`;

/** Of the furthest step the text at its way's beginning, or the first or last one until its end. */
function textAt(at: 'first_step' | 'first_touch' | 'last_touch', starts: string, places: string): string {
  if (at === 'first_step') return `texts[bitAnd(${starts}[arrayCount(reached)], ${2 ** PLACE_BITS - 1})]`;
  const find = at === 'first_touch' ? 'arrayFirst' : 'arrayLast';
  return `${find}(x -> x != '', arraySlice(texts, 1, ${places}[arrayCount(reached)]))`;
}

/**
 * Six aggregates over arrays and not five for each step: ClickHouse takes longer to analyse an aggregate than to count what
 * it is given here. Each with what it is given.
 */
const aggregates = (query: FunnelQuery): [name: string, values: string][] => [
  ['sumForEach', 'reached'],
  ['sumIfForEach', 'took, reached'],
  ['quantilesExactIfForEach(0.5, 0.9)', 'took, reached'],
  ['minIfForEach', 'took, reached'],
  ['maxIfForEach', 'took, reached'],
  ['sumForEach', classed(query)],
];

/** An aggregate that makes or merges states; its parameters stand behind its name. */
const withSuffix = (name: string, suffix: string): string => name.replace(/^\w+/, `$&${suffix}`);

const figuresSql = (query: FunnelQuery): string =>
  figuresOf(aggregates(query).map(([name, values]) => `${name}(${values})`));

/** `steps`, a StepFigures of each, and `times`, from the aggregates. */
function figuresOf([reached, took, quantiles, least, most, times]: readonly string[]): string {
  return `arrayZip(${reached}, arrayMap(x -> toString(x), ${took}), ${quantiles}, ${least}, ${most}) AS steps, ${times} AS times`;
}

/** Whether an attempt got to the last step in no more than each class allows; in the last one any. */
function classed({ steps }: FunnelQuery): string {
  const last = steps.length;
  const classes = [...TIME_CLASSES_MS, 'toUInt64(-1)'].join(', ');
  return `arrayMap(x -> reached[${last}] AND took[${last}] <= x, [${classes}])`;
}
