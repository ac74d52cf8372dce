import { type Static, Type } from 'typebox';
import { type Scope, scopeOf } from './scope.ts';
import type { Selection, StickinessQuery } from './shapes.ts';

export interface StickinessRow {
  /** From 1; 0: `active` is how many intervals the whole time has. */
  series: number;
  /** In how many intervals these persons had an event. */
  active: number;
  persons: number;
}

/** Stickiness with everything decided that its question leaves open. */
export interface StickinessPlan extends Scope {
  interval: StickinessQuery['interval'];
  timeZone: string;
  series: readonly Selection[];
}

export function stickinessPlan(query: StickinessQuery): StickinessPlan {
  const { interval, time_zone: timeZone = 'UTC', series } = query;
  return { ...scopeOf(query), interval, timeZone, series };
}

/** The answer to stickiness. */
export const stickinessAnswerShape = Type.Object({
  intervals: Type.Integer({ description: 'How many intervals the time has, parts of one included' }),
  series: Type.Array(
    Type.Object({
      persons: Type.Integer({ description: 'Who had such an event' }),
      active: Type.Array(
        Type.Object({
          intervals: Type.Integer({ minimum: 1 }),
          persons: Type.Integer({ description: 'Who had such an event in so many intervals' }),
          persons_at_least: Type.Integer({ description: 'Who had one in so many intervals or more' }),
        }),
        { description: 'From one interval to the most that anybody has' },
      ),
    }),
  ),
});
export type StickinessAnswer = Static<typeof stickinessAnswerShape>;

/** The answer from the rows of the statement. */
export function stickinessAnswer(query: StickinessQuery, rows: readonly StickinessRow[]): StickinessAnswer {
  const bySeries = Map.groupBy(rows, ({ series }) => series);
  return {
    intervals: bySeries.get(0)?.[0]?.active ?? 0,
    series: query.series.map((_, index) => seriesOf(bySeries.get(index + 1) ?? [])),
  };
}

function seriesOf(rows: readonly StickinessRow[]): StickinessAnswer['series'][number] {
  const counts = new Map(rows.map(({ active, persons }) => [active, persons]));
  const most = Math.max(0, ...counts.keys());
  const all = rows.reduce((sum, { persons }) => sum + persons, 0);
  let fewer = 0;
  const active = Array.from({ length: most }, (_, at) => {
    const persons = counts.get(at + 1) ?? 0;
    const atLeast = all - fewer;
    fewer += persons;
    return { intervals: at + 1, persons, persons_at_least: atLeast };
  });
  return { persons: all, active };
}
