import { type Static, Type } from 'typebox';
import { allOf, inScope, selects } from './filters.ts';
import { startOf } from './intervals.ts';
import type { RetentionQuery } from './shapes.ts';
import { createBinder, type Statement } from './statement.ts';

export interface RetentionRow {
  cohort: number;
  /** Intervals after the cohort's own; -1: the row counts the whole cohort. */
  period: number;
  persons: number;
}

/**
 * The statement of retention. A person belongs to the interval of its first start event, and returns in each interval in
 * which it has an event to come back with that happened after it. Rows: RetentionRow.
 */
export function retentionStatement(siteId: string, query: RetentionQuery): Statement {
  const binder = createBinder();
  const zone = query.time_zone ?? 'UTC';
  const start = selects(query.start, binder);
  const back = selects(query.back, binder);
  const periods = `arrayMap(t -> toInt32(dateDiff('${query.interval}', started, t, ${binder.bind(zone, 'String')})), arrayFilter(t -> t > started, returned))`;
  return binder.statement(`SELECT cohort, period, count() AS persons
FROM (SELECT ${startOf(query.interval, 'started', zone, binder)} AS cohort,
    arrayJoin(arrayConcat([toInt32(-1)], arrayDistinct(${periods}))) AS period
  FROM (SELECT minIf(timestamp, ${start}) AS started, groupArrayIf(timestamp, ${back}) AS returned
    FROM events WHERE ${allOf([...inScope(siteId, query, binder), `(${start} OR ${back})`])}
    GROUP BY person_id HAVING countIf(${start}) > 0))
GROUP BY cohort, period ORDER BY cohort, period`);
}

/** The answer to retention. */
export const retentionAnswerShape = Type.Object({
  cohorts: Type.Array(
    Type.Object({
      from: Type.Integer({ description: 'When the interval began' }),
      persons: Type.Integer({ description: 'Whose first start event was in it' }),
      returned: Type.Array(Type.Integer(), {
        description: 'How many of them came back in this interval, the next, ...; 0 for those after the last given',
      }),
    }),
  ),
});
export type RetentionAnswer = Static<typeof retentionAnswerShape>;

/** The answer from the rows of the statement. */
export function retentionAnswer(rows: readonly RetentionRow[]): RetentionAnswer {
  const cohorts = [...Map.groupBy(rows, ({ cohort }) => cohort)].map(([from, of]) => {
    const counts = new Map(of.map(({ period, persons }) => [period, persons]));
    const last = Math.max(...counts.keys());
    const returned = Array.from({ length: last + 1 }, (_, period) => counts.get(period) ?? 0);
    return { from, persons: counts.get(-1) ?? 0, returned };
  });
  return { cohorts };
}
