import type { RetentionPlan } from '#pipelines/query/retention.ts';
import { allOf, inScope, selects } from './conditions.ts';
import { startOf } from './interval_starts.ts';
import { createBinder, type Statement } from './statement.ts';

/**
 * The statement of retention. A person belongs to the interval of its first start event, and returns in each interval in
 * which it has an event to come back with that happened after it. Rows: RetentionRow.
 */
export function retentionStatement(siteId: string, plan: RetentionPlan): Statement {
  const binder = createBinder();
  const start = selects(plan.start, binder);
  const back = selects(plan.back, binder);
  const periods = `arrayMap(t -> toInt32(dateDiff('${plan.interval}', started, t, ${binder.bind(plan.timeZone, 'String')})), arrayFilter(t -> t > started, returned))`;
  return binder.statement(`SELECT cohort, period, count() AS persons
FROM (SELECT ${startOf(plan.interval, 'started', plan.timeZone, binder)} AS cohort,
    arrayJoin(arrayConcat([toInt32(-1)], arrayDistinct(${periods}))) AS period
  FROM (SELECT minIf(timestamp, ${start}) AS started, groupArrayIf(timestamp, ${back}) AS returned
    FROM events WHERE ${allOf([...inScope(siteId, plan, binder), `(${start} OR ${back})`])}
    GROUP BY person_id HAVING countIf(${start}) > 0))
GROUP BY cohort, period ORDER BY cohort, period`);
}
