// An index in Redis that is rebuilt from Kafka where it was lost, by one process while the others wait.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs, repeat } from '#infra/concurrency/time_limits.ts';
import { recoveryOf } from '#infra/errors.ts';
import type { Logger } from '#infra/log/logger.ts';
import { IndexLostError, refuseEviction } from '../client.ts';
import type { Redis } from '../connection.ts';
import type { IncompleteIndex, IndexEpoch } from './index_epoch.ts';

interface RebuildableIndexOptions {
  name: string;
  redis: Redis;
  epoch: IndexEpoch;
  /**
   * Writes again what was written from `sinceMs` on (milliseconds since 1970 UTC), or everything if that is null; `nowMs` is
   * the time, by the clock of Redis as well. Before it reads the log it must make sure that nothing that rests on the lost
   * index can be committed any more.
   */
  rebuild(sinceMs: number | null, nowMs: number): Promise<void>;
  logger: Logger;
}

/** A process that rebuilds and does not renew its lock for so long is taken for dead. */
const LOCK_MS = 15_000;
const RENEW_MS = 4_000;
const POLL_MS = 250;
const RETRY_MS = 1_000;
/** A node that joins a cluster is known after this: slots that are moved to it sooner are rebuilt. */
const MASTERS_MS = 5_000;

/** An index in Redis whose loss is noticed, and which one process then rebuilds while the others wait. */
export function createRebuildableIndex(options: RebuildableIndexOptions) {
  const { name, redis, epoch, logger } = options;
  const token = randomUUID();
  let whole = false;
  let ensuring: Promise<void> | null = null;

  /** Rebuilds with the lock held. False if the index was lost again meanwhile. */
  async function rebuild({ sinceMs, servers }: IncompleteIndex): Promise<boolean> {
    const begunMs = monotonicMs();
    logger.warn({ index: name, sinceMs }, 'Redis lost its data, rebuilding the index');
    // If Redis does not answer, the rebuild fails by itself.
    const keep = (): void => void epoch.keep(token, LOCK_MS).catch(() => undefined);
    const timer = setInterval(keep, RENEW_MS);
    try {
      await options.rebuild(sinceMs, Math.min(...servers.map(({ nowMs }) => nowMs)));
      const done = await epoch.complete(token, servers);
      const tookMs = Math.round(monotonicMs() - begunMs);
      logger.warn({ index: name, tookMs, done }, done ? 'index rebuilt' : 'index lost again');
      return done;
    } catch (error) {
      // It ends by itself after LOCK_MS.
      await epoch.release(token).catch(() => undefined);
      throw error;
    } finally {
      clearInterval(timer);
    }
  }

  /** Rebuilds the index, or waits while another process does, until it is whole. */
  async function makeWhole(): Promise<void> {
    await refuseEviction(redis);
    for (let waited = false; ; ) {
      const state = await epoch.state();
      if (state.kind === 'whole') return;
      if (state.kind === 'moved') {
        logger.info({ index: name, shards: state.moved.length }, 'the index was moved between the nodes of Redis');
        await epoch.adopt(state);
        continue;
      }
      if (await epoch.take(token, LOCK_MS)) {
        await epoch.invalidate(token);
        if (await rebuild(state)) return;
        continue;
      }
      if (!waited) logger.warn({ index: name }, 'waiting for another process to rebuild the index');
      waited = true;
      await sleep(POLL_MS);
    }
  }

  /**
   * Resolves when the index is whole: rebuilt by this process, or by another one that has begun already. Throws
   * RedisEvictsError if Redis may evict its keys.
   */
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

  // Whoever cannot read them now reads them the next time; that Redis is away is told by those who use it.
  const stop = redis.isCluster
    ? repeat(
        epoch.noteMasters,
        () => MASTERS_MS,
        () => undefined,
      )
    : () => undefined;

  return {
    stop,
    /** Whether it was whole when it was used last. */
    isWhole: (): boolean => whole,
    isReady: (): boolean => whole && redis.status === 'ready',
    /** As `ensure`, trying again for as long as Redis or what it is rebuilt from does not answer. */
    async await(): Promise<void> {
      for (;;) {
        try {
          return await ensure();
        } catch (error) {
          if (recoveryOf(error) === 'stop') throw error;
          logger.warn({ index: name, err: error }, 'index rebuild failed, retrying');
          await sleep(RETRY_MS);
        }
      }
    },
    /** Runs a use of the index. If that finds the index lost, makes it whole and throws the error on. */
    async use<T>(work: () => Promise<T>): Promise<T> {
      try {
        return await work();
      } catch (error) {
        if (error instanceof IndexLostError) await ensure();
        throw error;
      }
    },
  };
}
