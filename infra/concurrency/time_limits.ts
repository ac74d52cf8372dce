// A clock that only goes forward, and what ends or reports that which takes too long.
import { StageFailedError } from '#infra/errors.ts';

/**
 * Milliseconds of a clock that only goes forward, for spans of time. The time of day may be set back, by an hour as well:
 * nobody is to be refused, nor anything taken for new, for as long as that.
 */
export const monotonicMs = (): number => performance.now();

/** When a time of that clock is by the time of day, as it is now. */
export const wallMsOf = (ms: number): number => Date.now() + ms - monotonicMs();

/**
 * Calls `late` where it was not ended `ms` later. A process that was held up itself reads first what has arrived meanwhile.
 * Returns what ends it.
 */
export function deadline(ms: number, late: () => void): () => void {
  let isOver = false;
  const timer = setTimeout(() => {
    setImmediate(() => {
      if (!isOver) late();
    });
  }, ms);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

interface WatchdogOptions {
  limitMs: number;
  onFatal(error: unknown): void;
  /** Whether time counts now; absent: always. */
  counts?(): boolean;
}

export type Watchdog = ReturnType<typeof createWatchdog>;

export const WATCHDOG_MS = 300_000;
const TICKS = 20;

/**
 * Ends a process in which a piece of work lasts longer than all of the client's timeouts and retries: while the heartbeats
 * go on nobody would notice. Time in which the process itself was stalled does not count, so ticks are
 * counted and not the clock.
 */
export function createWatchdog({ limitMs, onFatal, counts = () => true }: WatchdogOptions) {
  return {
    /**
     * Runs work, and resolves or rejects as it does. Work of many steps calls `progressed` after each, and its time begins
     * again: a single step must not take longer than the limit.
     */
    async watch<T>(what: string, work: (progressed: () => void) => Promise<T>): Promise<T> {
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

/**
 * Does work again and again, with a pause before each time, until it is stopped; a failure is told, and nothing of it once it
 * is stopped. Returns what stops it.
 */
export function repeat(
  work: () => Promise<void>,
  pauseMs: () => number,
  onFailure: (error: unknown) => void,
): () => void {
  let isStopped = false;
  let timer: NodeJS.Timeout;
  const tell = (error: unknown): void => {
    if (!isStopped) onFailure(error);
  };
  const wait = (): void => {
    if (!isStopped) timer = setTimeout(() => void work().catch(tell).finally(wait), pauseMs()).unref();
  };
  wait();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** The same, but at once; `first` resolves when it was done once, `stop` when nothing is under way any more. */
export function repeatFromNow(
  work: () => Promise<void>,
  pauseMs: number,
  onFailure: (error: unknown) => void,
): { first: Promise<void>; stop(): Promise<void> } {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const run = (): void => {
    running = work()
      .catch(onFailure)
      .then(() => {
        if (!isStopped) timer = setTimeout(run, pauseMs).unref();
      });
  };
  run();
  return {
    first: running,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

export interface ProbeTimes {
  intervalMs: number;
  /** What takes longer counts as no answer. */
  answerMsMax: number;
  /** A question without an answer for so long is given up, and another is asked; absent: it ends by itself. */
  giveUpMs?: number;
}

interface ProbeListener {
  onFailure?(): void;
  onStop?(): void;
}

const TIMES: ProbeTimes = { intervalMs: 2_000, answerMsMax: 3_000 };

/** Whether something outside answers, asked every few seconds. */
export type Probe = ReturnType<typeof createProbe>;

/** It counts as alive at first, as what cannot be reached at the start fails by itself. */
export function createProbe(
  ask: () => Promise<unknown>,
  { intervalMs, answerMsMax, giveUpMs }: ProbeTimes = TIMES,
  { onFailure, onStop }: ProbeListener = {},
) {
  let alive = true;
  let asking = false;

  async function look(): Promise<void> {
    if (asking) return;
    asking = true;
    const { promise: givenUp, reject: giveUp } = Promise.withResolvers<never>();
    const late = setTimeout(() => {
      alive = false;
    }, answerMsMax);
    const end = giveUpMs === undefined ? undefined : setTimeout(() => giveUp(new Error('no answer')), giveUpMs);
    try {
      await Promise.race([ask(), givenUp]);
      alive = true;
    } catch {
      alive = false;
      onFailure?.();
    } finally {
      clearTimeout(late);
      clearTimeout(end);
      asking = false;
    }
  }

  const timer = setInterval(() => void look(), intervalMs).unref();
  return {
    isAlive: (): boolean => alive,
    stop(): void {
      clearInterval(timer);
      onStop?.();
    },
  };
}
