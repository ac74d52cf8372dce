import { setImmediate } from 'node:timers/promises';
import type { Turns } from '#pipelines/intake/take_batch.ts';

/** One event may take some 40 ms beyond it, where it holds all that an event may. */
const TURN_MS = 5;

/** Turns of this process, the first of which begins now. */
export function openTurns(): Turns {
  let beganMs = performance.now();
  return {
    isOver: () => performance.now() - beganMs >= TURN_MS,
    async next() {
      await setImmediate();
      beganMs = performance.now();
    },
  };
}
