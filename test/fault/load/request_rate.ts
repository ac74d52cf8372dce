import { setTimeout as sleep } from 'node:timers/promises';

/** What was missed while the machine was busy is caught up on for so long. */
const BEHIND_MS_MAX = 200;

/** Lets callers through one after the other, so many a second. */
export function atRate(perSecond: number): () => Promise<void> {
  let nextMs = performance.now();
  return async () => {
    nextMs = Math.max(nextMs + 1_000 / perSecond, performance.now() - BEHIND_MS_MAX);
    const waitMs = nextMs - performance.now();
    if (waitMs > 0) await sleep(waitMs);
  };
}
