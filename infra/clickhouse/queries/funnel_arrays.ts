import type { FunnelPlan } from '#pipelines/query/funnel_plan.ts';
import { exclusionBit } from './funnel_actors.ts';

/** Columns over an actor's arrays, each list of a SELECT of its own, the first the innermost. */
export interface Levels {
  /** Over its events: lists where a column is named more than once by later ones, as it is worked out anew each time. */
  overEvents: string[][];
  /** `place<n>`: the position of the event with which it first reached a step, 0 for never; `end<n>`: that event's stamp. */
  ofPlaces: string[];
  /**
   * Of all ways to that event the one that began last: `start<n>`, the stamp of its beginning, `previous<n>`, the latest one
   * of the step before, and for a breakdown at a step `at<n>`, the latest position of that step's event, 0 for none.
   */
  ofWays: string[];
  /** Beside the events: whether an excluded one drops the actor; null where none can. */
  dropped: string | null;
}

/** An array of stamps with each one place further: what there was before an event. */
export const moved = (stamps: string): string => `arrayPopBack(arrayPushFront(${stamps}, 0))`;

interface Between {
  /** Of each event the latest beginning before it, 0 for none. */
  begun: string;
  /** Of each event the latest beginning from which, with it, the step has been reached, 0 for none. */
  reached: string;
}

/** Whether an event drops the actor, for what lies between two steps; null where no exclusion drops actors. */
export function dropping(
  { exclusions }: FunnelPlan,
  span: string,
  between: (exclusion: FunnelPlan['exclusions'][number]) => Between,
): string | null {
  const conditions = exclusions.flatMap((exclusion, index) => {
    if (exclusion.ends === 'way') return [];
    const { begun, reached } = between(exclusion);
    const isDropped = `bitAnd(m, ${exclusionBit(index)}) != 0 AND b > 0 AND s - b < ${span} AND r < b`;
    return [`arrayExists((m, s, b, r) -> ${isDropped}, mask, stamp, ${begun}, ${reached})`];
  });
  return conditions.length === 0 ? null : `(${conditions.join(' OR ')})`;
}
