// One life of an index in Redis: its epoch, its lock, how far a rebuild has come; and the masters of a cluster, by which it was written.

import { randomUUID } from 'node:crypto';
import { Redis as Server } from 'ioredis';
import { createIndexScript, IndexLostError, infoFields, pairsOf, withRedisErrors } from '../client.ts';
import { nodesOf, type Redis } from '../connection.ts';

interface IndexServer {
  runId: string;
  nowMs: number;
}

/** A shard of the index whose slot was moved whole to another node, which names itself in its epoch next. */
interface MovedShard {
  prefix: string;
  epoch: string;
  runId: string;
}

type IndexState = { kind: 'whole' } | { kind: 'moved'; moved: MovedShard[] } | IncompleteIndex;

/** `sinceMs`: what was written before that time is there, what was written later may be lost; null: everything is lost. */
export interface IncompleteIndex {
  kind: 'lost';
  sinceMs: number | null;
  servers: IndexServer[];
}

/**
 * One life of an index in Redis. The epoch is written beside the index when that is made, and names the server process;
 * the scripts that use the index compare the two in the same call. A server that kept its data over a restart, or took over
 * from another, may lack only the last writes, so the time of the last use says from when on to rebuild.
 *
 * In a cluster the masters are noted beside each epoch. A shard that is found on another node than its epoch names was moved
 * there whole where all who were masters then are masters in the same life now. Otherwise a node that took over or
 * was restarted with its own data lacks the last writes; of whatever else happened everything counts as lost.
 */
export type IndexEpoch = ReturnType<typeof createIndexEpoch>;

type StateAnswer = [runId: string, epoch: string, used: string, now: string, noted: string[], isSameLife: number];

const isWhole = ([runId, epoch, , , , isSameLife]: StateAnswer, layout: string): boolean =>
  epoch === epochOf(runId, layout) && isSameLife === 1;

/** What may be missing of a shard; a number: what was written from then on. */
type ShardLoss = 'whole' | 'moved' | 'all' | number;

function lossOf(answer: StateAnswer, layout: string, masters: ClusterMasters | null): ShardLoss {
  if (isWhole(answer, layout)) return 'whole';
  const [runId, epoch, used, , noted] = answer;
  const [writer = '', ...madeBy] = epoch.split(' ');
  if (writer === '' || used === '' || madeBy.join(' ') !== layout) return 'all';
  if (masters === null) return Number(used);
  const then = mastersOf(noted);
  if (masters.has(writer)) {
    const isUnchanged = [...then.values()].every((master) => isSameLife(master, masters.get(master.runId)));
    return then.has(writer) && then.has(runId) && isUnchanged ? 'moved' : 'all';
  }
  const [before, owner] = [then.get(writer), masters.get(runId)];
  if (before === undefined || owner === undefined) return 'all';
  return owner.nodeId === before.nodeId || owner.formerStreamId === before.streamId ? Number(used) : 'all';
}

function isSameLife(before: ClusterMaster, now: ClusterMaster | undefined): boolean {
  return now !== undefined && now.nodeId === before.nodeId && now.formerStreamId === before.formerStreamId;
}

function epochOf(runId: string, layout: string): string {
  return layout === '' ? runId : `${runId} ${layout}`;
}

/** As they are noted: each run id, then the rest in one text. */
function notesOf(masters: ClusterMasters): string[] {
  return [...masters.values()]
    .sort((one, other) => (one.runId < other.runId ? -1 : 1))
    .flatMap(({ runId, nodeId, streamId, formerStreamId }) => [runId, `${nodeId} ${streamId} ${formerStreamId}`]);
}

function mastersOf(noted: readonly string[]): ClusterMasters {
  return new Map(
    pairsOf(noted).map(([runId, text]) => {
      const [nodeId = '', streamId = '', formerStreamId = ''] = text.split(' ');
      return [runId, { runId, nodeId, streamId, formerStreamId }];
    }),
  );
}

function createEpochScript(redis: Redis) {
  const script = createIndexScript(redis, 'indexes/epoch.lua');
  return (prefix: string, action: string, ...args: (string | number)[]) => script.run([prefix], [action, ...args]);
}

/**
 * The epoch of an index whose keys begin with one of the prefixes; in a cluster each prefix lies on a node of its own.
 * `layout`, without spaces, names what decides where things are found: under another one the whole index counts as lost. It may
 * change where `state` is asked, and only there.
 */
export function createIndexEpoch(redis: Redis, prefixes: readonly string[], layout: () => string = () => '') {
  const run = createEpochScript(redis);
  const mastersNow = async (): Promise<ClusterMasters | null> => (redis.isCluster ? readMasters(redis) : null);
  let notedLast = '';
  return {
    async state(): Promise<IndexState> {
      const found = (await Promise.all(prefixes.map((prefix) => run(prefix, 'state')))) as StateAnswer[];
      if (found.every((answer) => isWhole(answer, layout()))) return { kind: 'whole' };
      // Afterwards: who is a master now has been one all the time.
      const masters = await mastersNow();
      const losses = found.map((answer) => lossOf(answer, layout(), masters));
      if (losses.every((loss) => loss === 'whole' || loss === 'moved')) {
        return {
          kind: 'moved',
          moved: found.flatMap(([runId, epoch], at) =>
            losses[at] === 'moved' ? [{ prefix: prefixes[at] ?? '', epoch, runId }] : [],
          ),
        };
      }
      const since = losses.filter((loss) => typeof loss === 'number');
      return {
        kind: 'lost',
        sinceMs: losses.includes('all') ? null : Math.min(...since),
        servers: found.map(([runId, , , now]) => ({ runId, nowMs: Number(now) })),
      };
    },
    /** Goes on with shards that were moved to other nodes; one that has changed since is left to the next look. */
    async adopt({ moved }: Extract<IndexState, { kind: 'moved' }>): Promise<void> {
      await Promise.all(moved.map(({ prefix, epoch, runId }) => run(prefix, 'adopt', epoch, runId, layout())));
    },
    /** Notes who the masters of a cluster are, in each shard that is whole: it may be moved to one that joined. */
    async noteMasters(): Promise<void> {
      const notes = notesOf((await mastersNow()) ?? new Map());
      const text = notes.join(' ');
      if (text === notedLast) return;
      const answers = await Promise.all(prefixes.map((prefix) => run(prefix, 'note', layout(), ...notes)));
      if (answers.every((answer) => answer === 1)) notedLast = text;
    },
    /** Takes the rebuild lock, for `forMs` milliseconds. False if another process has it. */
    async take(token: string, forMs: number): Promise<boolean> {
      for (const prefix of prefixes) {
        if ((await withRedisErrors(redis.set(lockOf(prefix), token, 'PX', forMs, 'NX'))) === null) return false;
      }
      return true;
    },
    /** With the lock held: ends an epoch of another layout, so that no process uses that any more. */
    async invalidate(token: string): Promise<void> {
      for (const prefix of prefixes) await run(prefix, 'invalidate', token, layout());
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
      const notes = notesOf((await mastersNow()) ?? new Map());
      for (const [at, prefix] of prefixes.entries()) {
        const { runId, nowMs } = servers[at] ?? { runId: '', nowMs: 0 };
        if ((await run(prefix, 'complete', token, runId, nowMs, layout(), ...notes)) !== 1) return false;
      }
      return true;
    },
    async release(token: string): Promise<void> {
      for (const prefix of prefixes) {
        if ((await withRedisErrors(redis.get(lockOf(prefix)))) === token)
          await withRedisErrors(redis.del(lockOf(prefix)));
      }
    },
  };
}

/** The layout by which an index was made, or else is being made: null where neither is there. */
export async function layoutIn(redis: Redis, prefixes: readonly string[]): Promise<string | null> {
  for (const [key, layout] of [
    ['epoch', /^\S+ (.+)$/],
    ['attempt', /^\S+ (.+) \S+$/],
  ] as const) {
    const values = await Promise.all(prefixes.map((prefix) => withRedisErrors(redis.get(prefix + key))));
    const [found] = values.flatMap((value) => layout.exec(value ?? '')?.[1] ?? []);
    if (found !== undefined) return found;
  }
  return null;
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
    const values = await Promise.all(prefixes.map((prefix) => withRedisErrors(redis.get(`${prefix}attempt`))));
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
  const noted = found === null ? {} : await withRedisErrors(redis.hgetall(`${first}passed`));
  return {
    /** For each partition the offset before which everything is restored; empty for a new attempt. */
    passed: new Map(Object.entries(noted).map(([partition, offset]) => [Number(partition), Number(offset)])),
    /** Notes that everything in a partition before an offset is restored. */
    async pass(partition: number, offset: number): Promise<void> {
      await run(first, 'pass', id, partition, offset);
    },
  };
}

/** A server as a master. Where all but `streamId` stay the same it has lost nothing that it was told. */
interface ClusterMaster {
  nodeId: string;
  /** Of the process. */
  runId: string;
  /** Of what its replicas are sent (master_replid). */
  streamId: string;
  /** What it received when it was a replica last; zeros where it never was one, as a master of a process (master_replid2). */
  formerStreamId: string;
}

/** By run id. */
export type ClusterMasters = ReadonlyMap<string, ClusterMaster>;

/**
 * All masters of a cluster, those without slots as well: slots may be moved to these next. Throws RedisUnavailableError
 * where one that has slots does not answer.
 */
export async function readMasters(redis: Redis): Promise<ClusterMasters> {
  // Its nodes are known once it has answered anything.
  const listed = mastersListed(String(await withRedisErrors(redis.cluster('NODES'))));
  const found = await Promise.all(nodesOf(redis, 'master').map((node) => withRedisErrors(readMaster(node))));
  const answered = new Set(found.map((master) => master?.nodeId));
  const empty = listed.filter(({ nodeId }) => !answered.has(nodeId));
  const masters = [...found, ...(await Promise.all(empty.map(({ at }) => readEmptyMaster(redis, at))))];
  return new Map(masters.flatMap((master) => (master === null ? [] : [[master.runId, master]])));
}

/** Null: it is a replica by now. */
async function readMaster(node: Server): Promise<ClusterMaster | null> {
  const [nodeId, info] = await Promise.all([node.cluster('MYID'), node.info()]);
  const fields = infoFields(info);
  if (fields.get('role') !== 'master') return null;
  return {
    nodeId: String(nodeId),
    runId: fields.get('run_id') ?? '',
    streamId: fields.get('master_replid') ?? '',
    formerStreamId: fields.get('master_replid2') ?? '',
  };
}

/** The client has no connection to a node without slots. Null: it does not answer, and is not needed yet. */
async function readEmptyMaster(redis: Redis, at: { host: string; port: number }): Promise<ClusterMaster | null> {
  const { options } = nodesOf(redis, 'master')[0] ?? {};
  const { username, password, tls, commandTimeout } = options ?? {};
  const node = new Server({
    ...at,
    ...{ username, password, commandTimeout },
    ...(tls === undefined ? {} : { tls }),
    lazyConnect: true,
    retryStrategy: () => null,
  });
  // The command below fails.
  node.on('error', () => undefined);
  try {
    return await readMaster(node);
  } catch {
    return null;
  } finally {
    node.disconnect();
  }
}

/** Of lines as `ID 10.0.0.1:6379@16379,name master - 0 0 1 connected 0-5460`. */
function mastersListed(nodes: string): { nodeId: string; at: { host: string; port: number } }[] {
  return nodes.split('\n').flatMap((line) => {
    const [nodeId = '', address = '', flags = ''] = line.split(' ');
    const states = flags.split(',');
    if (!states.includes('master') || ['fail', 'handshake', 'noaddr'].some((state) => states.includes(state)))
      return [];
    const [ip, port, name] = /^(.*):(\d+)@\d+(?:,([^,]*))?/.exec(address)?.slice(1) ?? [];
    return ip === undefined ? [] : [{ nodeId, at: { host: name || ip, port: Number(port) } }];
  });
}
