/** Moments at which partitions begin batches, those of a process at the same moments. */
export type Linger = ReturnType<typeof createLinger>;

/** For this share of `lingerMs` a moment still lasts: partitions that one fetch brought do not ask at the very same time. */
const MOMENT_LASTS = 0.2;

/**
 * A moment is not bound to the clock: it comes when the first partition has something, if `lingerMs` have passed. So a stage
 * takes what another one passes on at such moments as soon as it is there.
 */
export function createLinger(lingerMs: number, nowMs: () => number, sleep: (ms: number) => Promise<unknown>) {
  let momentMs = Number.NEGATIVE_INFINITY;
  let following: Promise<unknown> | null = null;
  const isPast = (begunMs: number): boolean => begunMs === momentMs || nowMs() > momentMs + MOMENT_LASTS * lingerMs;
  const left = (): number => momentMs + lingerMs - nowMs();

  return {
    /**
     * Resolves at a moment other than `begunMs`, the last one at which the partition began a batch, and answers it. Two
     * moments are at least `lingerMs` apart; the first one asked for after that time is there at once.
     */
    async next(begunMs: number): Promise<number> {
      // Once for both, as the time may come between two looks at the clock.
      for (let leftMs = left(); leftMs > 0 && isPast(begunMs); leftMs = left()) {
        following ??= sleep(leftMs).finally(() => {
          following = null;
        });
        await following;
      }
      if (nowMs() >= momentMs + lingerMs) momentMs = nowMs();
      return momentMs;
    },
  };
}
