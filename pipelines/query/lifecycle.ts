import { type Static, Type } from 'typebox';
import { type Scope, scopeOf } from './scope.ts';
import type { LifecycleQuery, Selection } from './shapes.ts';

export interface LifecycleRow {
  kind: 'new' | 'returning' | 'resurrecting' | 'dormant' | 'start';
  /** Which interval of the time, from 0. */
  place: number;
  persons: number;
  /** Of `start`: when it begins. */
  bucket: number;
}

/** A lifecycle with everything decided that its question leaves open. */
export interface LifecyclePlan extends Scope {
  interval: LifecycleQuery['interval'];
  timeZone: string;
  selection: Selection;
}

export function lifecyclePlan(query: LifecycleQuery): LifecyclePlan {
  const { interval, time_zone: timeZone = 'UTC', events } = query;
  return { ...scopeOf(query), interval, timeZone, selection: events === undefined ? {} : { events } };
}

/** The answer to a lifecycle. */
export const lifecycleAnswerShape = Type.Object({
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
export type LifecycleAnswer = Static<typeof lifecycleAnswerShape>;

/** The answer from the rows of the statement. */
export function lifecycleAnswer(rows: readonly LifecycleRow[]): LifecycleAnswer {
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
