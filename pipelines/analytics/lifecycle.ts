// Lifecycle: the question, its statement and its answer.

import { type Static, Type } from 'typebox';
import { closed } from './filters.ts';
import { sinceEver } from './query_rewrites.ts';
import {
  calendarFields,
  common,
  cutOf,
  EXAMPLE_TIME,
  eventNames,
  longInterval,
  question,
  selectionOf,
} from './question.ts';
import { calendarSql, differentPlaces, firstRowsSql, intervalsUntil, querySpan, SPILLED } from './sql/event_rows.ts';
import { conditionOf, selects } from './sql/expressions.ts';
import { createBinder, type Statement } from './sql/statement.ts';

const schema = closed({
  ...common,
  interval: longInterval,
  ...calendarFields,
  events: Type.Optional(eventNames),
});
export type LifecycleQuery = Static<typeof schema>;

interface LifecycleRow {
  kind: 'new' | 'returning' | 'resurrecting' | 'dormant' | 'start';
  /** Which interval of the time, from 0. */
  place: number;
  persons: number;
  /** Of `start`: when it begins. */
  bucket: number;
}

/** The answer to a lifecycle. */
const answerSchema = Type.Object({
  intervals: Type.Array(
    Type.Object({
      from: Type.Integer({ description: 'When the interval begins' }),
      new: Type.Integer({ description: 'Whose first such event ever is in this interval' }),
      returning: Type.Integer({ description: 'Who had one in this interval and in the one before' }),
      resurrecting: Type.Integer({
        description: 'Who had one in this interval, none in the one before, and some earlier',
      }),
      dormant: Type.Integer({ description: 'Who had one in the interval before, and none in this' }),
    }),
    { description: 'All intervals of the time' },
  ),
});
export type LifecycleAnswer = Static<typeof answerSchema>;

/** The answer from the rows of the statement. */
function lifecycleAnswer(rows: readonly LifecycleRow[]): LifecycleAnswer {
  const counts = new Map(rows.map(({ kind, place, persons }) => [`${kind} ${place}`, persons]));
  const starts = rows.filter(({ kind }) => kind === 'start').toSorted((a, b) => a.place - b.place);
  return {
    intervals: starts.map(({ bucket, place }) => {
      const of = (kind: LifecycleRow['kind']): number => counts.get(`${kind} ${place}`) ?? 0;
      return {
        from: bucket,
        new: of('new'),
        returning: of('returning'),
        resurrecting: of('resurrecting'),
        dormant: of('dormant'),
      };
    }),
  };
}

/** Places of what happened in the interval before the first, and of everything earlier. */
const BEFORE = -1;
const EARLIER = -2;

/**
 * The statement of a lifecycle. A person is where its events are, as numbers of intervals; events of before the question's
 * time tell who is new. Rows: LifecycleRow.
 */
function lifecycleStatement(siteId: string, query: LifecycleQuery): Statement {
  const binder = createBinder();
  const plan = cutOf(query);
  const selection = selectionOf(query);
  const span = querySpan(plan, binder);
  const placeOf = (time: string): string =>
    intervalsUntil(plan.interval, { from: span.from, to: time }, plan.calendar, binder);
  const inTime = `timestamp >= ${span.from}`;
  const place = `if(${inTime}, ${placeOf('timestamp')}, if(${placeOf('timestamp')} = ${BEFORE}, ${BEFORE}, ${EARLIER}))`;
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const events = firstRowsSql(
    {
      siteId,
      span: querySpan({ from: 0, to: plan.to }, binder),
      selections: [selection],
      conditions: [...filters, selects(selection, binder)],
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
FROM (${calendarSql([span], plan, binder)}))
${SPILLED}`);
}

/** Who is new, returns, comes back or stays away. */
export const lifecycle = question({
  kind: 'lifecycle',
  summary: 'Who is new in an interval, returns, comes back after a pause, or stays away',
  schema,
  answerSchema,
  example: { ...EXAMPLE_TIME, interval: 'week', time_zone: 'Europe/Brussels', events: ['page_view'] },
  statement: lifecycleStatement,
  answer: (_query, rows: readonly LifecycleRow[]) => lifecycleAnswer(rows),
  reads: sinceEver,
});
