import type { RetentionPlan } from '#pipelines/query/retention.ts';
import { conditionOf, selects } from './conditions.ts';
import { firstRowsSql, SPILLED } from './first_rows.ts';
import { askedSpan, intervalsUntil, startOf, timeAt } from './interval_starts.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

/** The place of everything that happened before the question's time. */
const EARLIER = -1;

/** Later and earlier than any event: a place without a start, and one without an event to come back with. */
const NEVER_BEGAN = 'toInt64(9223372036854775807)';
const NEVER_BACK = 'toInt64(-9223372036854775807)';

/**
 * The statement of retention. A person is in the interval of a start event, and returns in each interval in which it has an
 * event to come back with that happened later than the first start event there. Which of its start events count is the
 * plan's mode. What is kept of a person is two times for each interval in which it was active. Rows: RetentionRow.
 */
export function retentionStatement(siteId: string, plan: RetentionPlan): Statement {
  const binder = createBinder();
  const places = `SELECT person, place, min(if(isStart, at, ${NEVER_BEGAN})) AS began, max(if(isBack, at, ${NEVER_BACK})) AS last
  FROM (${startsAndReturnsSql(siteId, plan, binder)}) GROUP BY person, place`;
  const persons = `SELECT arraySort(groupArrayIf((place, began), began != ${NEVER_BEGAN})) AS starts,
    groupArrayIf((place, last), last != ${NEVER_BACK}) AS backs
  FROM (${places}) GROUP BY person HAVING notEmpty(starts)`;
  const cohorts = plan.mode === 'recurring' ? 'starts' : 'arraySlice(starts, 1, 1)';
  const periods = `arrayMap(x -> x.1 - begun.1, arrayFilter(x -> x.2 > begun.2, backs))`;
  const cohort = startOf(plan.interval, "fromUnixTimestamp64Milli(begun.2, 'UTC')", plan.timeZone, binder);
  return binder.statement(`SELECT ${cohort} AS cohort, arrayJoin(arrayConcat([toInt64(-1)], ${periods})) AS period, count() AS persons
FROM (SELECT arrayJoin(${cohorts}) AS begun, backs FROM (${persons}))
WHERE begun.1 > ${EARLIER}
GROUP BY cohort, period ORDER BY cohort, period
${SPILLED}`);
}

/**
 * `person`, `place` (the number of its interval) and `at` of each event that is a start or to come back with.
 *
 * @param more Other columns: expressions over event_rows by the names they are given.
 */
export function startsAndReturnsSql(
  siteId: string,
  plan: RetentionPlan,
  binder: Binder,
  more: Readonly<Record<string, string>> = {},
): string {
  const asked = askedSpan(plan, binder);
  const start = selects(plan.start, binder);
  const back = selects(plan.back, binder);
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const inTime = `timestamp >= ${asked.from}`;
  const place = intervalsUntil(plan.interval, { from: asked.from, to: 'timestamp' }, plan.timeZone, binder);
  const columns = {
    person: 'actor',
    at: 'toUnixTimestamp64Milli(timestamp)',
    isStart: `toBool(${start})`,
    isBack: `toBool(${back} AND ${inTime})`,
    place: plan.mode === 'first_ever' ? `if(${inTime}, ${place}, ${EARLIER})` : place,
    ...more,
  };
  const from = plan.mode === 'first_ever' ? timeAt(0, binder) : asked.from;
  return firstRowsSql(
    {
      siteId,
      span: { from, to: asked.to },
      selections: [plan.start, plan.back],
      conditions: [...filters, `(${start} OR ${back})`],
      columns,
    },
    binder,
  );
}
