/** Moments at which partitions begin batches, those of a process together. */
export interface Pace {
  /**
   * Resolves at a moment that is not `begunMs`, the last one that the partition began a batch at, and answers it. Moments
   * are as far apart as the pace at the least; the first one asked for after that time is there at once.
   */
  next(begunMs: number): Promise<number>;
}

/** Share of a pace for which a moment is still there: what one fetch brings of several partitions is not taken in one go. */
const MOMENT_LASTS = 0.2;

/**
 * A moment is not bound to the clock: it comes when the first partition has something, as far as the pace allows, so that a
 * stage takes what another one passes on at such moments as soon as it is there.
 */
export function createPace(paceMs: number, nowMs: () => number, sleep: (ms: number) => Promise<unknown>): Pace {
  let momentMs = Number.NEGATIVE_INFINITY;
  let following: Promise<unknown> | null = null;

  function isPast(begunMs: number): boolean {
    return begunMs === momentMs || nowMs() > momentMs + MOMENT_LASTS * paceMs;
  }

  return {
    async next(begunMs) {
      while (nowMs() < momentMs + paceMs && isPast(begunMs)) {
        following ??= sleep(momentMs + paceMs - nowMs()).finally(() => {
          following = null;
        });
        await following;
      }
      if (nowMs() >= momentMs + paceMs) momentMs = nowMs();
      return momentMs;
    },
  };
}
