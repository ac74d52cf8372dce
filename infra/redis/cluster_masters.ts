// The masters of a cluster, each with the life it is in: what an index was written by, and whether that is still there.

import { Redis as Server } from 'ioredis';
import { asked, infoFields } from './client.ts';
import { nodesOf, type Redis } from './connection.ts';

/** A server as a master. Where all but `streamId` stay the same it has lost nothing that it was told. */
export interface ClusterMaster {
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
  const listed = mastersListed(String(await asked(redis.cluster('NODES'))));
  const found = await Promise.all(nodesOf(redis, 'master').map((node) => asked(readMaster(node))));
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
