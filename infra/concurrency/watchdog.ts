import { StageFailedError } from '#infra/errors.ts';

export interface WatchdogOptions {
  limitMs: number;
  /** Called once for work that lasts longer. */
  onFatal(error: unknown): void;
  /** Whether time counts just now; it always does where this is not given. */
  counts?(): boolean;
}

export interface Watchdog {
  /**
   * Does work; answers, and throws, what it does. Work of many steps calls `progressed` after each: its time begins anew, as
   * it is a step that may hang, and not the number of steps.
   */
  watch<T>(what: string, work: (progressed: () => void) => Promise<T>): Promise<T>;
}

/** Ends a process whose work hangs, where it is not said otherwise. */
export const WATCHDOG_MS = 300_000;
const TICKS = 20;

/**
 * Ends a process in which a piece of work lasts longer than any of the client's own timeouts and tries: nobody would ever
 * hear of it while the heartbeats go on. Time in which the process itself was stalled does not count, so ticks are counted
 * and not the clock.
 */
export function createWatchdog({ limitMs, onFatal, counts = () => true }: WatchdogOptions): Watchdog {
  return {
    async watch(what, work) {
      let ticks = 0;
      const timer = setInterval(() => {
        if (counts()) ticks++;
        if (ticks < TICKS) return;
        clearInterval(timer);
        onFatal(new StageFailedError(`${what} does not end`));
      }, limitMs / TICKS);
      timer.unref();
      try {
        return await work(() => {
          ticks = 0;
        });
      } finally {
        clearInterval(timer);
      }
    },
  };
}

/** Does work, and rejects where it lasts too long: nothing may be done after it then with what it was done with. */
export function withinLimit<T>(what: string, work: () => Promise<T>, limitMs = WATCHDOG_MS): Promise<T> {
  return new Promise((resolve, reject) => {
    createWatchdog({ limitMs, onFatal: reject }).watch(what, work).then(resolve, reject);
  });
}
