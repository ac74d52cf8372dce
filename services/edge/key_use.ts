import type { KeyUses } from '#infra/redis/key_use.ts';

export interface KeyUseOptions {
  /** Passes uses on; where it throws they are passed on with the next. */
  note(uses: KeyUses): Promise<void>;
  nowMs(): number;
}

/** Remembers which keys are used, at the cost of a look into a map. */
export interface KeyUse {
  saw(keyHash: string): void;
  /** Passes on what is left. */
  stop(): Promise<void>;
}

/** A key that is used all the time is passed on so often. */
const REPORTED_EVERY_MS = 60_000;
const FLUSH_MS = 1_000;

/** Passes on at once that a key was used, and then no more than once a minute for each key. */
export function createKeyUse({ note, nowMs }: KeyUseOptions): KeyUse {
  const reportedAtMs = new Map<string, number>();
  let waiting = new Map<string, number>();

  async function flush(): Promise<void> {
    if (waiting.size === 0) return;
    const uses = waiting;
    waiting = new Map();
    try {
      await note(uses);
    } catch {
      // The store says itself that it is away. A later use of the same key says more than this one.
      waiting = new Map([...uses, ...waiting]);
    }
  }

  const timer = setInterval(() => void flush(), FLUSH_MS);
  timer.unref();
  return {
    saw(keyHash) {
      const now = nowMs();
      // A clock that was set back tells nothing of how long ago it was.
      const agoMs = now - (reportedAtMs.get(keyHash) ?? Number.NEGATIVE_INFINITY);
      if (agoMs >= 0 && agoMs < REPORTED_EVERY_MS) return;
      reportedAtMs.set(keyHash, now);
      waiting.set(keyHash, now);
    },
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}
