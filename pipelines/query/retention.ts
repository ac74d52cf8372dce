import { type Static, Type } from 'typebox';
import { type Scope, scopeOf } from './scope.ts';
import type { RetentionQuery, Selection } from './shapes.ts';

export interface RetentionRow {
  cohort: number;
  /** Intervals after the cohort's own; -1: the row counts the whole cohort. */
  period: number;
  persons: number;
}

/** Retention with everything decided that its question leaves open. */
export interface RetentionPlan extends Scope {
  interval: RetentionQuery['interval'];
  timeZone: string;
  /** Which start events of a person count: its first of the time, its first ever where that is in the time, or all. */
  mode: NonNullable<RetentionQuery['mode']>;
  start: Selection;
  back: Selection;
}

export function retentionPlan(query: RetentionQuery): RetentionPlan {
  const { interval, time_zone: timeZone = 'UTC', mode = 'first', start, back } = query;
  return { ...scopeOf(query), interval, timeZone, mode, start, back };
}

/** The answer to retention. */
export const retentionAnswerShape = Type.Object({
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
