import type { TrendsPlan } from '#pipelines/query/trends.ts';
import { allOf, FIRST_ROW, inScope, numberOf, selects, textOf } from './conditions.ts';
import { unitsOf } from './exact_amounts.ts';
import { startOf } from './interval_starts.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

/** The statement of trends. Rows: TrendRow. */
export function trendsStatement(siteId: string, plan: TrendsPlan): Statement {
  const binder = createBinder();
  const text = plan.breakdown === null ? "''" : textOf(plan.breakdown.field, binder);
  const bucket = startOf(plan.interval, 'timestamp', plan.timeZone, binder);
  const conditions = plan.series.map((series) => selects(series, binder));
  const matched = conditions.map((condition) => `toBool(${condition})`).join(', ');
  const units = plan.series.map(({ sum }) => unitsOf(sum === undefined ? 'NULL' : numberOf(sum, binder))).join(', ');
  const events = `SELECT series, text, bucket, person, amounts[series] AS amount
FROM (SELECT first.1 AS person, first.2 AS bucket, first.3 AS matched, first.4 AS amounts, first.5 AS text
  FROM (SELECT argMin(tuple(person_id, ${bucket}, [${matched}], [${units}], ${text}), ${FIRST_ROW}) AS first
    FROM events WHERE ${rowsWanted(siteId, plan, conditions, binder)} GROUP BY event_id))
ARRAY JOIN arrayEnumerate(matched) AS series
WHERE matched[series]`;
  return binder.statement(plan.breakdown === null ? plainSql(events) : byValueSql(events, plan.breakdown.limit));
}

function plainSql(events: string): string {
  return `SELECT series, if(grouping(bucket) = 0, 'interval', 'all') AS kind, '' AS text, 0 AS rest, 0 AS texts, bucket,
  count() AS events, uniqExact(person) AS persons, toString(sum(amount)) AS units
FROM (${events})
GROUP BY GROUPING SETS ((series), (series, bucket))
ORDER BY series, kind, bucket`;
}

/** A person counts once over several values, so sets of persons are merged instead of adding numbers. */
function byValueSql(events: string, limit: number): string {
  const counted = `SELECT series, text, bucket, count() AS counted, uniqExactState(person) AS people, sum(amount) AS added
FROM (${events}) GROUP BY series, text, bucket`;
  const totals = `SELECT *, sum(counted) OVER (PARTITION BY series, text) AS total FROM (${counted})`;
  const placed = `SELECT *, dense_rank() OVER (PARTITION BY series ORDER BY total DESC, text) > ${limit} AS isRest FROM (${totals})`;
  return `SELECT series, ${KIND} AS kind, name AS text, isRest AS rest, uniqExact(value) AS texts, bucket,
  sum(counted) AS events, uniqExactMerge(people) AS persons, toString(sum(added)) AS units
FROM (SELECT * EXCEPT text, text AS value, if(isRest, '', text) AS name FROM (${placed}))
GROUP BY GROUPING SETS ((series), (series, bucket), (series, isRest, name), (series, isRest, name, bucket))
ORDER BY series, kind, events DESC, text, bucket`;
}

const KIND = `multiIf(grouping(name) = 0 AND grouping(bucket) = 0, 'value_interval', grouping(name) = 0, 'value',
  grouping(bucket) = 0, 'interval', 'all')`;

function rowsWanted(siteId: string, plan: TrendsPlan, conditions: readonly string[], binder: Binder): string {
  return allOf([...inScope(siteId, plan, binder), `(${conditions.join(' OR ')})`]);
}
