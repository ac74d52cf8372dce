// Retention: the question, its statement and its answer.

import { type Static, Type } from 'typebox';
import { type Problem, problem } from '#pipelines/settings/problems.ts';
import { closed } from './filters.ts';
import { calendarFields, common, cutOf, EXAMPLE_TIME, longInterval, question, selectionShape } from './question.ts';
import { firstRowsSql, intervalsUntil, querySpan, SPILLED, startOf } from './sql/event_rows.ts';
import { conditionOf, inRange, selects } from './sql/expressions.ts';
import { type Binder, createBinder, JOINS, type Statement } from './sql/statement.ts';

export const retentionShape = closed({
  ...common,
  interval: longInterval,
  ...calendarFields,
  mode: Type.Optional(
    Type.Enum(['first', 'first_ever', 'recurring'], {
      description:
        'Cohort of a person: the interval of the first start event in the range; of the first ever (earlier starters are left out); or every interval with a start event',
      default: 'first',
    }),
  ),
  start: selectionShape,
  back: selectionShape,
});
export type RetentionQuery = Static<typeof retentionShape>;

const DAY_MS = 86_400_000;
/** Recurring retention has a figure for every two of its intervals. */
const RECURRING_INTERVALS_MAX = 400;

/** What of retention no schema can say. */
export function retentionProblems(query: RetentionQuery): Problem[] {
  const days = (query.to - query.from) / DAY_MS;
  const isLong = query.mode === 'recurring' && query.interval === 'day' && days > RECURRING_INTERVALS_MAX;
  const message = `recurring retention has at most ${RECURRING_INTERVALS_MAX} intervals`;
  return isLong ? [problem('too_many', 'interval', message)] : [];
}

interface RetentionRow {
  cohort: number;
  /** Intervals after the cohort's own; -1: the row counts the whole cohort. */
  period: number;
  persons: number;
}

/** Retention with everything decided that its question leaves open. */
export type RetentionPlan = ReturnType<typeof retentionPlan>;

export function retentionPlan(query: RetentionQuery) {
  const { mode = 'first', start, back } = query;
  return { ...cutOf(query), mode, start, back };
}

/** The answer to retention. */
const answerSchema = Type.Object({
  cohorts: Type.Array(
    Type.Object({
      from: Type.Integer({ description: 'When the interval began' }),
      persons: Type.Integer({
        description: 'Whose start event was in it: the first of the time or ever, or any, by mode',
      }),
      returned: Type.Array(Type.Integer(), {
        description: 'How many of them came back in this interval, the next, ...; 0 for those after the last given',
      }),
    }),
  ),
});
export type RetentionAnswer = Static<typeof answerSchema>;

/** The answer from the rows of the statement. */
function retentionAnswer(rows: readonly RetentionRow[]): RetentionAnswer {
  const cohorts = [...Map.groupBy(rows, ({ cohort }) => cohort)].map(([from, of]) => {
    const counts = new Map(of.map(({ period, persons }) => [period, persons]));
    const last = Math.max(...counts.keys());
    const returned = Array.from({ length: last + 1 }, (_, period) => counts.get(period) ?? 0);
    return { from, persons: counts.get(-1) ?? 0, returned };
  });
  return { cohorts };
}

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
function retentionStatement(siteId: string, query: RetentionQuery): Statement {
  const binder = createBinder();
  const plan = retentionPlan(query);
  const places = `SELECT person, place, min(if(isStart, at, ${NEVER_BEGAN})) AS began, max(if(isBack, at, ${NEVER_BACK})) AS last
  FROM (${startsAndReturnsSql(siteId, plan, binder)}) GROUP BY person, place`;
  const persons = `SELECT arraySort(groupArrayIf(${moment('place', 'began')}, began != ${NEVER_BEGAN})) AS starts,
    groupArrayIf(${moment('place', 'last')}, last != ${NEVER_BACK}) AS backs
  FROM (${places}) GROUP BY person HAVING notEmpty(starts)`;
  const cohorts = plan.mode === 'recurring' ? 'starts' : 'arraySlice(starts, 1, 1)';
  const periods = `arrayMap(x -> ${placeOf('x')} - ${placeOf('begun')}, arrayFilter(x -> ${timeOf('x')} > ${timeOf('begun')}, backs))`;
  const began = `fromUnixTimestamp64Milli(toInt64(any(${timeOf('begun')})), 'UTC')`;
  const counted = `SELECT ${placeOf('begun')} AS place, period, count() AS persons, ${startOf(plan.interval, began, plan.calendar, binder)} AS cohort
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
  const span = querySpan(plan, binder);
  const start = selects(plan.start, binder);
  const back = selects(plan.back, binder);
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const columns = {
    person: 'actor',
    at: 'toUnixTimestamp64Milli(timestamp)',
    isStart: `toBool(${start})`,
    isBack: `toBool(${back})`,
    place: intervalsUntil(plan.interval, { from: span.from, to: 'timestamp' }, plan.calendar, binder),
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
    `SELECT actor FROM event_rows${JOINS} WHERE ${[...before, ...filters, selects(plan.start, binder)].join(' AND ')} GROUP BY actor`,
  );
}

/** How many come back. */
export const retention = question({
  kind: 'retention',
  summary: 'Of those who began in an interval, how many came back in each one after it',
  schema: retentionShape,
  answerSchema,
  check: retentionProblems,
  example: { ...EXAMPLE_TIME, interval: 'week', mode: 'first_ever', start: { events: ['sign_up'] }, back: {} },
  statement: retentionStatement,
  answer: (_query, rows: readonly RetentionRow[]) => retentionAnswer(rows),
});
