import type { RetentionAnswer } from '#pipelines/analytics/retention.ts';
import { dayIn, dayStart } from '../../period.ts';
import * as conditions from '../../questions/conditions.ts';

export const RETENTION_INTERVALS = { day: 'day', week: 'week', month: 'month' };
export const MODES = { first: 'First in this period', first_ever: 'First ever', recurring: 'Every one' };
type RetentionInterval = keyof typeof RETENTION_INTERVALS;

/** Retention as it is being written: what the API takes, without the time. */
export interface RetentionDraft {
  start: conditions.SelectionDraft;
  back: conditions.SelectionDraft;
  interval: RetentionInterval;
  mode?: keyof typeof MODES | undefined;
  filters?: conditions.FilterDraft[] | undefined;
}

const USUAL: RetentionDraft = { start: { events: ['page_view'] }, back: { events: ['page_view'] }, interval: 'day' };

export function readRetention(given: unknown): RetentionDraft {
  if (given === undefined) return USUAL;
  const { start, back, interval, mode, filters } = conditions.objectIn(given);
  return {
    start: conditions.selectionIn(start),
    back: conditions.selectionIn(back),
    interval: conditions.oneOf(interval, RETENTION_INTERVALS),
    mode: conditions.choiceIn(mode, MODES),
    filters: conditions.someOf(conditions.filtersIn(filters)),
  };
}

/** When an interval so many later begins, in the zone in which the question is asked. */
export function laterStart(start: number, interval: RetentionInterval, count: number, timeZone: string): number {
  const [year, month, day] = dayIn(timeZone, start);
  if (interval === 'month') return dayStart(timeZone, year, month + count, 1);
  return dayStart(timeZone, year, month, day + count * (interval === 'week' ? 7 : 1));
}

interface ShownCohort {
  from: number;
  persons: number;
  back: number[];
}

/** Who came back, cohort by cohort, for each interval that has begun before the question's end. */
export const shownCohorts = (
  { cohorts }: RetentionAnswer,
  { interval, to, time_zone: timeZone }: { interval: RetentionInterval; to: number; time_zone: string },
): ShownCohort[] =>
  cohorts
    .toSorted((a, b) => a.from - b.from)
    .map(({ from, persons, returned }) => {
      const back: number[] = [];
      while (laterStart(from, interval, back.length, timeZone) < to) back.push(returned[back.length] ?? 0);
      return { from, persons, back };
    });

/** What part of all cohorts that have an interval came back in it, by intervals since. */
export function overall(cohorts: readonly ShownCohort[]): { persons: number; back: number }[] {
  const width = Math.max(0, ...cohorts.map(({ back }) => back.length));
  return Array.from({ length: width }, (_, at) => {
    const having = cohorts.filter(({ back }) => back.length > at);
    return {
      persons: having.reduce((sum, { persons }) => sum + persons, 0),
      back: having.reduce((sum, { back }) => sum + (back[at] ?? 0), 0),
    };
  });
}
