import type { LifecyclePlan } from '#pipelines/query/lifecycle.ts';
import { conditionOf, selects } from './conditions.ts';
import { firstRowsSql, SPILLED } from './first_rows.ts';
import { askedSpan, calendarSql, differentPlaces, intervalsUntil } from './interval_starts.ts';
import { createBinder, type Statement } from './statement.ts';

/** Places of what happened in the interval before the first, and of everything earlier. */
const BEFORE = -1;
const EARLIER = -2;

/**
 * The statement of a lifecycle. A person is where its events are, as numbers of intervals; events of before the question's
 * time tell who is new. Rows: LifecycleRow.
 */
export function lifecycleStatement(siteId: string, plan: LifecyclePlan): Statement {
  const binder = createBinder();
  const span = askedSpan(plan, binder);
  const placeOf = (time: string): string =>
    intervalsUntil(plan.interval, { from: span.from, to: time }, plan.timeZone, binder);
  const inTime = `timestamp >= ${span.from}`;
  const place = `if(${inTime}, ${placeOf('timestamp')}, if(${placeOf('timestamp')} = ${BEFORE}, ${BEFORE}, ${EARLIER}))`;
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const events = firstRowsSql(
    {
      siteId,
      span: { from: binder.time(0), to: span.to },
      selections: [plan.selection],
      conditions: [...filters, selects(plan.selection, binder)],
      columns: { person: 'actor', place },
    },
    binder,
  );
  const persons = `SELECT ${differentPlaces(plan, EARLIER)} AS places FROM (${events}) GROUP BY person`;
  const last = placeOf(binder.time(plan.to - 1));
  const active = `arrayMap(x -> (multiIf(has(places, x - 1), 'returning', arrayMin(places) < x, 'resurrecting', 'new'), x),
    arrayFilter(x -> x >= 0, places))`;
  const dormant = `arrayMap(x -> ('dormant', toInt32(x + 1)),
    arrayFilter(x -> x >= ${BEFORE} AND x < ${last} AND NOT has(places, x + 1), places))`;
  return binder.statement(`SELECT * FROM (SELECT state.1 AS kind, state.2 AS place, count() AS persons, 0 AS bucket
FROM (SELECT arrayJoin(arrayConcat(${active}, ${dormant})) AS state FROM (${persons})) GROUP BY kind, place
UNION ALL SELECT 'start', ${placeOf("fromUnixTimestamp64Milli(toInt64(bucket), 'UTC')")}, 0, bucket
FROM (${calendarSql(span, plan, binder)}))
${SPILLED}`);
}
