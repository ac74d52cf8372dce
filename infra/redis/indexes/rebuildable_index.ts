// An index in Redis that can be rebuilt from Kafka: its epoch, its lock, and a rebuild that another process can go on with.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import { recoveryOf } from '#infra/errors.ts';
import type { Logger } from '#infra/log/logger.ts';
import { asked, createIndexScript, IndexLostError, type Redis, refuseEviction } from '../client.ts';

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

  return {
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

interface IndexServer {
  runId: string;
  nowMs: number;
}

/** `sinceMs`: what was written before that time is there, what was written later may be lost; null: everything is lost. */
type IndexState = { kind: 'whole' } | IncompleteIndex;

interface IncompleteIndex {
  kind: 'lost';
  sinceMs: number | null;
  servers: IndexServer[];
}

/**
 * One life of an index in Redis. The epoch is written beside the index when that is made, and names the server process;
 * the scripts that use the index compare the two in the same call. A server that kept its data over a restart, or took over
 * from another, may lack only the last writes, so the time of the last use says from when on to rebuild.
 */
export type IndexEpoch = ReturnType<typeof createIndexEpoch>;

type StateAnswer = [runId: string, epoch: string, used: string, now: string];

function createEpochScript(redis: Redis) {
  const script = createIndexScript(redis, 'indexes/epoch.lua');
  return (prefix: string, action: string, ...args: (string | number)[]) => script.run([prefix], [action, ...args]);
}

/**
 * The epoch of an index whose keys begin with one of the prefixes; in a cluster each prefix lies on a node of its own.
 * `layout`, without spaces, names what decides where things are found: under another one the whole index counts as lost.
 */
export function createIndexEpoch(redis: Redis, prefixes: readonly string[], layout = '') {
  const run = createEpochScript(redis);
  return {
    async state(): Promise<IndexState> {
      const found = (await Promise.all(prefixes.map((prefix) => run(prefix, 'state')))) as StateAnswer[];
      const epochOf = (runId: string): string => (layout === '' ? runId : `${runId} ${layout}`);
      const lost = found.filter(([runId, epoch]) => epoch !== epochOf(runId));
      if (lost.length === 0) return { kind: 'whole' };
      const since = lost.map(([, epoch, used]) => {
        const [server, ...madeBy] = epoch.split(' ');
        return server === '' || used === '' || madeBy.join(' ') !== layout ? null : Number(used);
      });
      return {
        kind: 'lost',
        sinceMs: since.includes(null) ? null : Math.min(...(since as number[])),
        servers: found.map(([runId, , , now]) => ({ runId, nowMs: Number(now) })),
      };
    },
    /** Takes the rebuild lock, for `forMs` milliseconds. False if another process has it. */
    async take(token: string, forMs: number): Promise<boolean> {
      for (const prefix of prefixes) {
        if ((await asked(redis.set(lockOf(prefix), token, 'PX', forMs, 'NX'))) === null) return false;
      }
      return true;
    },
    /** With the lock held: ends an epoch of another layout, so that no process uses that any more. */
    async invalidate(token: string): Promise<void> {
      for (const prefix of prefixes) await run(prefix, 'invalidate', token, layout);
    },
    /** Renews the lock if it is still held. */
    async keep(token: string, forMs: number): Promise<void> {
      for (const prefix of prefixes) await run(prefix, 'keep', token, forMs);
    },
    /**
     * Begins the epoch, on the servers that were there when the rebuild began. False if the lock or the server was lost
     * since: the index is to be rebuilt again.
     */
    async complete(token: string, servers: readonly IndexServer[]): Promise<boolean> {
      for (const [at, prefix] of prefixes.entries()) {
        const { runId, nowMs } = servers[at] ?? { runId: '', nowMs: 0 };
        if ((await run(prefix, 'complete', token, runId, nowMs, layout)) !== 1) return false;
      }
      return true;
    },
    async release(token: string): Promise<void> {
      for (const prefix of prefixes) {
        if ((await asked(redis.get(lockOf(prefix)))) === token) await asked(redis.del(lockOf(prefix)));
      }
    },
  };
}

function lockOf(prefix: string): string {
  return `${prefix}rebuilder`;
}

/**
 * Goes on with the rebuild under way if every server still has all of it and it is for this layout; else ends it and begins
 * another. `onNew` runs between the two: what the old attempt had restored may be deleted then. Throws IndexLostError if
 * another process begins one meanwhile. Its progress is stored beside what it has restored, in the same servers, and means
 * nothing without that.
 */
export async function resumeRebuild(
  redis: Redis,
  prefixes: readonly [string, ...string[]],
  layout: string,
  onNew: () => Promise<void>,
) {
  const [first] = prefixes;
  const run = createEpochScript(redis);
  const states = (await Promise.all(prefixes.map((prefix) => run(prefix, 'state')))) as StateAnswer[];
  const textOf = (id: string, at: number): string => `${id} ${layout} ${states[at]?.[0]}`;

  async function underWay(): Promise<string | null> {
    const values = await Promise.all(prefixes.map((prefix) => asked(redis.get(`${prefix}attempt`))));
    const id = values[0]?.split(' ')[0] ?? '';
    return id !== '' && values.every((value, at) => value === textOf(id, at)) ? id : null;
  }

  async function begin(): Promise<string> {
    const id = randomUUID();
    await Promise.all(prefixes.map((prefix) => run(prefix, 'end_attempt', id)));
    await onNew();
    const begun = await Promise.all(prefixes.map((prefix, at) => run(prefix, 'begin_attempt', id, textOf(id, at))));
    if (begun.some((answer) => answer !== 1)) throw new IndexLostError('another process begins to rebuild the index');
    return id;
  }

  const found = await underWay();
  const id = found ?? (await begin());
  const noted = found === null ? {} : await asked(redis.hgetall(`${first}passed`));
  return {
    /** For each partition the offset before which everything is restored; empty for a new attempt. */
    passed: new Map(Object.entries(noted).map(([partition, offset]) => [Number(partition), Number(offset)])),
    /** Notes that everything in a partition before an offset is restored. */
    async pass(partition: number, offset: number): Promise<void> {
      await run(first, 'pass', id, partition, offset);
    },
  };
}
