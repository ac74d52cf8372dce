import { setTimeout as sleep } from 'node:timers/promises';
import { recoveryOf } from '#infra/errors.ts';
import type { Logger } from '#infra/log/logger.ts';
import { IndexLostError, type Redis, refuseEviction } from './client.ts';
import type { Incarnation, LostIndex } from './incarnation.ts';

export interface RebuildableIndexOptions {
  /** The index's name in the log. */
  name: string;
  redis: Redis;
  incarnation: Incarnation;
  /**
   * Writes again what was written from `sinceMs` on (milliseconds since 1970 UTC), or everything if that is null; `nowMs` is
   * the time, by the clock of Redis as well. Before it reads the log it must make sure that nothing that rests on the lost
   * index can be committed any more.
   */
  rebuild(sinceMs: number | null, nowMs: number): Promise<void>;
  /** Of this process and no other. */
  token: string;
  logger: Logger;
  monotonicMs(): number;
}

export interface RebuildableIndex {
  /** Whether the index can be used, as far as is known. */
  isReady(): boolean;
  /**
   * Resolves when the index is whole: rebuilt by this process, or by another one that has begun already. Throws
   * RedisEvictsError if Redis may evict its keys.
   */
  ensure(): Promise<void>;
  /** As `ensure`, trying again for as long as Redis or what it is rebuilt from does not answer. */
  await(): Promise<void>;
  /** Runs a use of the index. If that finds the index lost, makes it whole and throws the error on. */
  use<T>(work: () => Promise<T>): Promise<T>;
}

/** A process that rebuilds and does not renew its lock for so long is taken for dead. */
const LOCK_MS = 15_000;
const RENEW_MS = 4_000;
const POLL_MS = 250;
const RETRY_MS = 1_000;

/** An index in Redis whose loss is noticed, and which one process then rebuilds while the others wait. */
export function createRebuildableIndex(options: RebuildableIndexOptions): RebuildableIndex {
  let whole = false;
  let ensuring: Promise<void> | null = null;

  function ensure(): Promise<void> {
    whole = false;
    ensuring ??= makeWhole(options)
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
    await: () => untilWhole(options, ensure),
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

async function untilWhole({ name, logger }: RebuildableIndexOptions, ensure: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await ensure();
    } catch (error) {
      if (recoveryOf(error) === 'stop') throw error;
      logger.warn({ index: name, err: error }, 'index cannot be made whole, trying again');
      await sleep(RETRY_MS);
    }
  }
}

/** Rebuilds the index, or waits while another process does, until it is whole. */
async function makeWhole(options: RebuildableIndexOptions): Promise<void> {
  const { name, redis, incarnation, logger, token } = options;
  await refuseEviction(redis);
  for (let waited = false; ; ) {
    const state = await incarnation.state();
    if (state.kind === 'whole') return;
    if (await incarnation.take(token, LOCK_MS)) {
      await incarnation.invalidate(token);
      if (await rebuild(options, state)) return;
      continue;
    }
    if (!waited) logger.warn({ index: name }, 'another process rebuilds the index, waiting');
    waited = true;
    await sleep(POLL_MS);
  }
}

/** Rebuilds with the lock held. False if the index was lost again meanwhile. */
async function rebuild(options: RebuildableIndexOptions, { sinceMs, servers }: LostIndex): Promise<boolean> {
  const { name, incarnation, logger, token, monotonicMs } = options;
  const begunMs = monotonicMs();
  logger.warn({ index: name, sinceMs }, 'redis lost what it held, rebuilding the index');
  const timer = setInterval(() => {
    // If Redis does not answer, the rebuild fails by itself.
    incarnation.keep(token, LOCK_MS).catch(() => undefined);
  }, RENEW_MS);
  try {
    await options.rebuild(sinceMs, Math.min(...servers.map(({ nowMs }) => nowMs)));
    const done = await incarnation.complete(token, servers);
    logger.warn(
      { index: name, tookMs: Math.round(monotonicMs() - begunMs), done },
      done ? 'index rebuilt' : 'lost again',
    );
    return done;
  } catch (error) {
    // It ends by itself after LOCK_MS.
    await incarnation.release(token).catch(() => undefined);
    throw error;
  } finally {
    clearInterval(timer);
  }
}
