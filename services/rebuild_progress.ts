import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import type { Logger } from '#infra/log/logger.ts';

/** How far a rebuilding is, said in the log now and then. */
export interface Progress {
  count(things: number): void;
  /** Offsets passed, and to pass in all. */
  at(done: number, total: number): void;
  end(): void;
}

const SAID_EVERY_MS = 5_000;

export function createProgress(logger: Logger, index: string): Progress {
  let restored = 0;
  const begunMs = monotonicMs();
  let saidMs = begunMs;
  return {
    count(things) {
      restored += things;
    },
    at(done, total) {
      if (monotonicMs() - saidMs < SAID_EVERY_MS) return;
      saidMs = monotonicMs();
      const secondsLeft = done === 0 ? null : Math.ceil(((saidMs - begunMs) * (total - done)) / done / 1_000);
      logger.info({ index, restored, percent: Math.floor((100 * done) / total), secondsLeft }, 'rebuilding');
    },
    end: () => logger.info({ index, restored }, 'read back'),
  };
}
