import { asked, type Redis } from './client.ts';
import { createIndexScript } from './lua_script.ts';

/** A server that holds a part of an index, and the time by its clock. */
interface IndexServer {
  runId: string;
  nowMs: number;
}

/** `sinceMs`: what was written before that time is there, what was written later may be lost; null: everything is lost. */
type IndexState = { kind: 'whole' } | LostIndex;

export interface LostIndex {
  kind: 'lost';
  sinceMs: number | null;
  servers: IndexServer[];
}

/**
 * One life of an index in Redis. The incarnation is written beside the index when that is made, and names the server process;
 * the scripts that use the index compare the two in the same call. A server that kept its data over a restart, or took over
 * from another, may lack only the last writes, so the time of the last use says from when on to rebuild.
 */
export interface Incarnation {
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
export function createIncarnation(redis: Redis, prefixes: readonly string[], layout = ''): Incarnation {
  const stateScript = createIndexScript(redis, 'incarnation_state.lua');
  const keepScript = createIndexScript(redis, 'incarnation_keep.lua');
  const completeScript = createIndexScript(redis, 'incarnation_complete.lua');
  const invalidateScript = createIndexScript(redis, 'incarnation_invalidate.lua');

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
