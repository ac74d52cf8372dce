import { StageFailedError } from '#infra/errors.ts';

export interface WatchdogOptions {
  limitMs: number;
  /** Called once for work that lasts longer. */
  onFatal(error: unknown): void;
  /** Whether time counts now; absent: always. */
  counts?(): boolean;
}

export interface Watchdog {
  /**
   * Runs work, and resolves or rejects as it does. Work of many steps calls `progressed` after each, and its time begins
   * again: a single step must not take longer than the limit.
   */
  watch<T>(what: string, work: (progressed: () => void) => Promise<T>): Promise<T>;
}

/** The limit if none is configured. */
export const WATCHDOG_MS = 300_000;
const TICKS = 20;

/**
 * Ends a process in which a piece of work lasts longer than all of the client's timeouts and retries: while the heartbeats
 * go on nobody would notice. Time in which the process itself was stalled does not count, so ticks are
 * counted and not the clock.
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

/** Runs work, and rejects if it takes too long; the client that it used must not be used after that. */
export function withinLimit<T>(what: string, work: () => Promise<T>, limitMs = WATCHDOG_MS): Promise<T> {
  return new Promise((resolve, reject) => {
    createWatchdog({ limitMs, onFatal: reject }).watch(what, work).then(resolve, reject);
  });
}
