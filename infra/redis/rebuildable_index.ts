import { setTimeout as sleep } from 'node:timers/promises';
import { recoveryOf } from '#infra/errors.ts';
import type { Logger } from '#infra/log/logger.ts';
import { IndexLostError, type Redis, refuseEviction } from './client.ts';
import type { Epoch } from './epoch.ts';

export interface KeptIndexOptions {
  /** What the log calls it. */
  name: string;
  redis: Redis;
  epoch: Epoch;
  /**
   * Writes again what was written from `sinceMs` on (milliseconds since 1970 UTC), or all where it is null. Before it
   * reads the log it must see to it that nothing that rests on the lost index can be committed any more.
   */
  rebuild(sinceMs: number | null): Promise<void>;
  /** Of this process and no other. */
  token: string;
  logger: Logger;
  nowMs(): number;
}

export interface KeptIndex {
  /** Whether it can be worked with, as far as is known. */
  isReady(): boolean;
  /**
   * Resolves when the index is whole: rebuilt by this process, or by another one that has begun already. Throws
   * RedisEvictsError where Redis would throw it away.
   */
  ensure(): Promise<void>;
  /** As `ensure`, trying again for as long as Redis or what it is rebuilt from does not answer. */
  await(): Promise<void>;
  /** Runs a use of the index. Where that finds it lost, the index is made whole and the error thrown on. */
  use<T>(work: () => Promise<T>): Promise<T>;
}

/** A rebuilder that says nothing for so long is taken for dead. */
const RIGHT_MS = 15_000;
const KEEP_MS = 4_000;
const POLL_MS = 250;
const RETRY_MS = 1_000;

/** An index in Redis that is noticed when it is lost and made again, by one process while the others wait. */
export function keepIndex(options: KeptIndexOptions): KeptIndex {
  const { name, epoch, logger, token } = options;
  let whole = false;
  let ensuring: Promise<void> | null = null;

  async function makeWhole(): Promise<void> {
    await refuseEviction(options.redis);
    for (let waited = false; ; ) {
      const state = await epoch.state();
      if (state.kind === 'whole') return;
      if (await epoch.take(token, RIGHT_MS)) {
        await epoch.invalidate(token);
        if (await rebuild(state.sinceMs, state.runIds)) return;
        continue;
      }
      if (!waited) logger.warn({ index: name }, 'another process rebuilds the index, waiting');
      waited = true;
      await sleep(POLL_MS);
    }
  }

  async function rebuild(sinceMs: number | null, runIds: readonly string[]): Promise<boolean> {
    const begunMs = options.nowMs();
    logger.warn({ index: name, sinceMs }, 'redis lost what it held, rebuilding the index');
    const timer = setInterval(() => {
      // Where Redis does not answer the rebuilding fails by itself.
      epoch.keep(token, RIGHT_MS).catch(() => undefined);
    }, KEEP_MS);
    try {
      await options.rebuild(sinceMs);
      const done = await epoch.complete(token, runIds, begunMs);
      logger.warn({ index: name, tookMs: options.nowMs() - begunMs, done }, done ? 'index rebuilt' : 'lost again');
      return done;
    } catch (error) {
      // It ends by itself after RIGHT_MS.
      await epoch.release(token).catch(() => undefined);
      throw error;
    } finally {
      clearInterval(timer);
    }
  }

  function ensure(): Promise<void> {
    whole = false;
    ensuring ??= makeWhole()
      .then(() => {
        whole = true;
      })
      .finally(() => {
        ensuring = null;
      });
    return ensuring;
  }

  return {
    isReady: () => whole && options.redis.status === 'ready',
    ensure,
    async await() {
      for (;;) {
        try {
          return await ensure();
        } catch (error) {
          if (recoveryOf(error) === 'stop') throw error;
          logger.warn({ index: name, err: error }, 'index cannot be made whole, trying again');
          await sleep(RETRY_MS);
        }
      }
    },
    async use(work) {
      try {
        return await work();
      } catch (error) {
        if (error instanceof IndexLostError) await ensure();
        throw error;
      }
    },
  };
}
