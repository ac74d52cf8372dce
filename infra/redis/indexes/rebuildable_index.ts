// An index in Redis that can be rebuilt from Kafka: its epoch, its lock, and a rebuild that another process can go on with.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import { recoveryOf } from '#infra/errors.ts';
import type { Logger } from '#infra/log/logger.ts';
import { asked, createIndexScript, IndexLostError, type Redis, refuseEviction } from '../client.ts';

interface RebuildableIndexOptions {
  /** The index's name in the log. */
  name: string;
  redis: Redis;
  incarnation: IndexEpoch;
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

interface RebuildableIndex {
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
async function rebuild(options: RebuildableIndexOptions, { sinceMs, servers }: IncompleteIndex): Promise<boolean> {
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

/** A server that holds a part of an index, and the time by its clock. */
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
 * One life of an index in Redis. The incarnation is written beside the index when that is made, and names the server process;
 * the scripts that use the index compare the two in the same call. A server that kept its data over a restart, or took over
 * from another, may lack only the last writes, so the time of the last use says from when on to rebuild.
 */
export interface IndexEpoch {
  state(): Promise<IndexState>;
  /** Takes the rebuild lock, for `forMs` milliseconds. False if another process has it. */
  take(token: string, forMs: number): Promise<boolean>;
  /** With the lock held: ends an incarnation of another layout, so that no process uses that any more. */
  invalidate(token: string): Promise<void>;
  /** Renews the lock if it is still held. */
  keep(token: string, forMs: number): Promise<void>;
  /** Begins the incarnation, on the servers that were there when the rebuild began. False if the lock or the server was lost since: the index is to be rebuilt again. */
  complete(token: string, servers: readonly IndexServer[]): Promise<boolean>;
  /** Releases the lock. */
  release(token: string): Promise<void>;
}

/**
 * The incarnation of an index whose keys begin with one of the prefixes; in a cluster each prefix lies on a node of its own.
 * `layout`, without spaces, names what decides where things are found: under another one the whole index counts as lost.
 */
export function createIndexEpoch(redis: Redis, prefixes: readonly string[], layout = ''): IndexEpoch {
  const stateScript = createIndexScript(redis, 'indexes/epoch_state.lua');
  const keepScript = createIndexScript(redis, 'indexes/epoch_keep.lua');
  const completeScript = createIndexScript(redis, 'indexes/epoch_complete.lua');
  const invalidateScript = createIndexScript(redis, 'indexes/epoch_invalidate.lua');

  return {
    async state() {
      const found = (await Promise.all(prefixes.map((prefix) => stateScript.run([prefix], [])))) as [
        runId: string,
        incarnation: string,
        used: string,
        now: string,
      ][];
      const lost = found.filter(
        ([runId, incarnation]) => incarnation !== (layout === '' ? runId : `${runId} ${layout}`),
      );
      if (lost.length === 0) return { kind: 'whole' };
      const since = lost.map(([, incarnation, used]) => {
        const [server, ...madeBy] = incarnation.split(' ');
        return server === '' || used === '' || madeBy.join(' ') !== layout ? null : Number(used);
      });
      return {
        kind: 'lost',
        sinceMs: since.includes(null) ? null : Math.min(...(since as number[])),
        servers: found.map(([runId, , , now]) => ({ runId, nowMs: Number(now) })),
      };
    },
    async take(token, forMs) {
      for (const prefix of prefixes) {
        if ((await asked(redis.set(lockOf(prefix), token, 'PX', forMs, 'NX'))) === null) return false;
      }
      return true;
    },
    async invalidate(token) {
      for (const prefix of prefixes) await invalidateScript.run([prefix], [token, layout]);
    },
    async keep(token, forMs) {
      for (const prefix of prefixes) await keepScript.run([prefix], [token, forMs]);
    },
    async complete(token, servers) {
      for (const [at, prefix] of prefixes.entries()) {
        const { runId, nowMs } = servers[at] ?? { runId: '', nowMs: 0 };
        if ((await completeScript.run([prefix], [token, runId, nowMs, layout])) !== 1) return false;
      }
      return true;
    },
    async release(token) {
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
 * A rebuild that another process can go on with: its progress is stored beside what it has restored, in the same servers,
 * and means nothing without that.
 */
export interface Attempt {
  /** For each partition the offset before which everything is restored; empty for a new attempt. */
  readonly passed: ReadonlyMap<number, number>;
  /** Notes that everything in a partition before an offset is restored. */
  pass(partition: number, offset: number): Promise<void>;
}

/**
 * Goes on with the attempt under way if every server still has all of it and it is for this layout; else ends it and begins
 * another. `onNew` runs between the two: what the old attempt had restored may be deleted then. Throws IndexLostError if
 * another process begins one meanwhile.
 */
export async function openAttempt(
  redis: Redis,
  prefixes: readonly [string, ...string[]],
  layout: string,
  onNew: () => Promise<void>,
): Promise<Attempt> {
  const [first] = prefixes;
  const stateScript = createIndexScript(redis, 'indexes/epoch_state.lua');
  const endScript = createIndexScript(redis, 'indexes/attempt_end.lua');
  const beginScript = createIndexScript(redis, 'indexes/attempt_begin.lua');
  const passScript = createIndexScript(redis, 'indexes/attempt_pass.lua');
  const runIds = await Promise.all(
    prefixes.map(async (prefix) => ((await stateScript.run([prefix], [])) as [runId: string])[0]),
  );
  const textOf = (id: string, at: number): string => `${id} ${layout} ${runIds[at]}`;

  async function underWay(): Promise<string | null> {
    const values = await Promise.all(prefixes.map((prefix) => asked(redis.get(`${prefix}attempt`))));
    const id = values[0]?.split(' ')[0] ?? '';
    return id !== '' && values.every((value, at) => value === textOf(id, at)) ? id : null;
  }

  async function begin(): Promise<string> {
    const id = randomUUID();
    await Promise.all(prefixes.map((prefix) => endScript.run([prefix], [id])));
    await onNew();
    const begun = await Promise.all(prefixes.map((prefix, at) => beginScript.run([prefix], [id, textOf(id, at)])));
    if (begun.some((answer) => answer !== 1)) throw new IndexLostError('another process begins to rebuild the index');
    return id;
  }

  const found = await underWay();
  const id = found ?? (await begin());
  const noted = found === null ? {} : await asked(redis.hgetall(`${first}passed`));
  return {
    passed: new Map(Object.entries(noted).map(([partition, offset]) => [Number(partition), Number(offset)])),
    async pass(partition, offset) {
      await passScript.run([first], [id, partition, offset]);
    },
  };
}

/** How far a rebuilding is, said in the log now and then. */
interface Progress {
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
