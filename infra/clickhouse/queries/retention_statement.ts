import type { RetentionPlan } from '#pipelines/query/retention.ts';
import { conditionOf, inRange, selects } from './conditions.ts';
import { firstRowsSql, SPILLED } from './first_rows.ts';
import { askedSpan, intervalsUntil, startOf } from './interval_starts.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

/** Later and earlier than any event: a place without a start, and one without an event to come back with. */
const NEVER_BEGAN = 'toInt64(9223372036854775807)';
const NEVER_BACK = 'toInt64(-9223372036854775807)';

/** A place and a time as one number, since numbers are gathered in a fraction of the time of tuples. */
const TIME_BITS = 48;
const moment = (place: string, time: string): string =>
  `bitShiftLeft(toUInt64(${place}), ${TIME_BITS}) + toUInt64(${time})`;
const placeOf = (of: string): string => `toInt64(bitShiftRight(${of}, ${TIME_BITS}))`;
const timeOf = (of: string): string => `bitAnd(${of}, ${2 ** TIME_BITS - 1})`;

/**
 * The statement of retention. A person is in the interval of a start event, and returns in each interval in which it has an
 * event to come back with that happened later than the first start event there. Which of its start events count is the
 * plan's mode. What is kept of a person is two times for each interval in which it was active. Rows: RetentionRow.
 */
export function retentionStatement(siteId: string, plan: RetentionPlan): Statement {
  const binder = createBinder();
  const places = `SELECT person, place, min(if(isStart, at, ${NEVER_BEGAN})) AS began, max(if(isBack, at, ${NEVER_BACK})) AS last
  FROM (${startsAndReturnsSql(siteId, plan, binder)}) GROUP BY person, place`;
  const persons = `SELECT arraySort(groupArrayIf(${moment('place', 'began')}, began != ${NEVER_BEGAN})) AS starts,
    groupArrayIf(${moment('place', 'last')}, last != ${NEVER_BACK}) AS backs
  FROM (${places}) GROUP BY person HAVING notEmpty(starts)`;
  const cohorts = plan.mode === 'recurring' ? 'starts' : 'arraySlice(starts, 1, 1)';
  const periods = `arrayMap(x -> ${placeOf('x')} - ${placeOf('begun')}, arrayFilter(x -> ${timeOf('x')} > ${timeOf('begun')}, backs))`;
  const began = `fromUnixTimestamp64Milli(toInt64(any(${timeOf('begun')})), 'UTC')`;
  const counted = `SELECT ${placeOf('begun')} AS place, period, count() AS persons, ${startOf(plan.interval, began, plan.timeZone, binder)} AS cohort
FROM (SELECT arrayJoin(${cohorts}) AS begun, backs FROM (${persons}))
ARRAY JOIN arrayConcat([toInt64(-1)], ${periods}) AS period
GROUP BY place, period`;
  return binder.statement(`SELECT cohort, period, persons FROM (${counted}) ORDER BY cohort, period\n${SPILLED}`);
}

/**
 * `person`, `place` (the number of its interval) and `at` of each event that is a start or to come back with; of persons who
 * began before the question's time none, where the first start ever counts.
 *
 * @param more Other columns: expressions over event_rows by the names they are given.
 */
export function startsAndReturnsSql(
  siteId: string,
  plan: RetentionPlan,
  binder: Binder,
  more: Readonly<Record<string, string>> = {},
): string {
  const span = askedSpan(plan, binder);
  const start = selects(plan.start, binder);
  const back = selects(plan.back, binder);
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const columns = {
    person: 'actor',
    at: 'toUnixTimestamp64Milli(timestamp)',
    isStart: `toBool(${start})`,
    isBack: `toBool(${back})`,
    place: intervalsUntil(plan.interval, { from: span.from, to: 'timestamp' }, plan.timeZone, binder),
    ...more,
  };
  const conditions = [...filters, `(${start} OR ${back})`];
  if (plan.mode === 'first_ever') conditions.push(`actor GLOBAL NOT IN (${begunBeforeSql(siteId, plan, binder)})`);
  return firstRowsSql({ siteId, span, selections: [plan.start, plan.back], conditions, columns }, binder);
}

/** Who has a start event before the question's time. */
function begunBeforeSql(siteId: string, plan: RetentionPlan, outside: Binder): string {
  const binder = outside.inside();
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const before = inRange(siteId, { from: 0, to: plan.from }, binder);
  return binder.withNames(
    `SELECT actor FROM event_rows WHERE ${[...before, ...filters, selects(plan.start, binder)].join(' AND ')} GROUP BY actor`,
  );
}
