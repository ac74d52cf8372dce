import { asked, type Redis } from './client.ts';
import { createIndexScript } from './lua_script.ts';

/** How an index stands. `sinceMs`: what was written before is there, what was written later may not be; null: nothing is. */
type IndexState = { kind: 'whole' } | { kind: 'lost'; sinceMs: number | null; runIds: string[] };

/**
 * Whether an index in Redis is whole. Its epoch is written beside it when it is made and names the server process; the
 * scripts that use the index compare the two in the same call. A server that kept its data over a restart, or took over
 * from another, holds a beginning of what was written, so the time of the last use says from where on to rebuild.
 */
export interface Epoch {
  state(): Promise<IndexState>;
  /** Takes the right to rebuild, for `forMs` milliseconds. False where somebody has it. */
  take(token: string, forMs: number): Promise<boolean>;
  /** Ends what another layout began, with the right held: nobody works by that layout any more. */
  invalidate(token: string): Promise<void>;
  /** Keeps a right that is still held. */
  keep(token: string, forMs: number): Promise<void>;
  /** Begins the epoch. False where the right or the server was lost since: the index is to be rebuilt again. */
  complete(token: string, runIds: readonly string[], begunMs: number): Promise<boolean>;
  /** Gives the right back. */
  release(token: string): Promise<void>;
}

/**
 * The epoch of an index whose keys begin with one of the prefixes; in a cluster each lies on a node of its own. `layout`
 * names what decides where things are found, without spaces: under another one the index counts as lost, all of it.
 */
export function createEpoch(redis: Redis, prefixes: readonly string[], layout = ''): Epoch {
  const stateScript = createIndexScript(redis, 'epoch_state.lua');
  const keepScript = createIndexScript(redis, 'epoch_keep.lua');
  const completeScript = createIndexScript(redis, 'epoch_complete.lua');
  const invalidateScript = createIndexScript(redis, 'epoch_invalidate.lua');

  return {
    async state() {
      const found = (await Promise.all(prefixes.map((prefix) => stateScript.run([prefix], [])))) as [
        runId: string,
        epoch: string,
        used: string,
      ][];
      const lost = found.filter(([runId, epoch]) => epoch !== (layout === '' ? runId : `${runId} ${layout}`));
      if (lost.length === 0) return { kind: 'whole' };
      const since = lost.map(([, epoch, used]) => {
        const [server, ...madeBy] = epoch.split(' ');
        return server === '' || used === '' || madeBy.join(' ') !== layout ? null : Number(used);
      });
      return {
        kind: 'lost',
        sinceMs: since.includes(null) ? null : Math.min(...(since as number[])),
        runIds: found.map(([runId]) => runId),
      };
    },
    async take(token, forMs) {
      for (const prefix of prefixes) {
        if ((await asked(redis.set(rightOf(prefix), token, 'PX', forMs, 'NX'))) === null) return false;
      }
      return true;
    },
    async invalidate(token) {
      for (const prefix of prefixes) await invalidateScript.run([prefix], [token, layout]);
    },
    async keep(token, forMs) {
      for (const prefix of prefixes) await keepScript.run([prefix], [token, forMs]);
    },
    async complete(token, runIds, begunMs) {
      for (const [at, prefix] of prefixes.entries()) {
        if ((await completeScript.run([prefix], [token, runIds[at] ?? '', begunMs, layout])) !== 1) return false;
      }
      return true;
    },
    async release(token) {
      for (const prefix of prefixes) {
        if ((await asked(redis.get(rightOf(prefix)))) === token) await asked(redis.del(rightOf(prefix)));
      }
    },
  };
}

function rightOf(prefix: string): string {
  return `${prefix}rebuilder`;
}
