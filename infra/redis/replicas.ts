// The servers of a Redis that each have users of their own: what a master is told of users its replicas do not learn.

import { infoFields, mastersOf, withRedisErrors } from './client.ts';
import { nodesOf, type Redis, type Server } from './connection.ts';
import { permitted } from './passwords.ts';

/** A server of which another tells cannot be reached from here, so that it would keep the users that it has. */
class RedisReplicaUntoldError extends Error {
  readonly code = 'redis_replica_untold';
}

interface Servers {
  all: Server[];
  /** Ends the connections that were made to find them. */
  close(): void;
}

/**
 * Every server that is in use: the masters and replicas of a cluster, as it knows them, or else the server, those that copy it and
 * those that copy these, or the master of which it is a copy; with the same login.
 *
 * @throws RedisReplicaUntoldError where one does not let this login in at the address that another has of it
 */
export async function serversOf(redis: Redis): Promise<Servers> {
  const known = [...(await mastersOf(redis)), ...nodesOf(redis, 'slave')];
  if (redis.isCluster) return { all: known, close: () => undefined };
  const made: Server[] = [];
  const close = (): void => {
    for (const server of made) server.disconnect();
  };
  try {
    return { all: await withPeers(known, made), close };
  } catch (error) {
    close();
    throw error;
  }
}

/** @param made What is connected to is put there. */
async function withPeers(known: readonly Server[], made: Server[]): Promise<Server[]> {
  const all = [...known];
  const runs = new Set<string>();
  const asked = new Set<string>();
  for (const server of all) runs.add((await tell(server)).run);
  for (let at = 0; at < all.length; at++) {
    const server = all[at] as Server;
    for (const { host, port } of (await tell(server)).peers) {
      if (asked.has(`${host} ${port}`)) continue;
      asked.add(`${host} ${port}`);
      const peer = server.duplicate({ host, port, sentinels: undefined, lazyConnect: true, retryStrategy: () => null });
      // Said by `connect`, below.
      peer.on('error', () => undefined);
      made.push(peer);
      const { run } = await withRedisErrors(peer.connect())
        .then(() => tell(peer))
        .catch((cause: unknown) => {
          const why =
            'a replica, or the master of one, which has users of its own, and cannot be signed in at from here';
          throw new RedisReplicaUntoldError(`${host}:${port} is ${why}: no password was changed`, { cause });
        });
      // A server may have several addresses.
      if (runs.has(run)) continue;
      runs.add(run);
      all.push(peer);
    }
  }
  return all;
}

interface Told {
  /** Of this run of the server, and no other. */
  run: string;
  peers: { host: string; port: number }[];
}

async function tell(server: Server): Promise<Told> {
  const run = infoFields(await permitted('INFO', server.info('server'))).get('run_id') ?? '';
  return { run, peers: peersIn(infoFields(await permitted('INFO', server.info('replication')))) };
}

/** The addresses of the servers that copy one, and of that which it copies. @param fields Of INFO replication. */
export function peersIn(fields: ReadonlyMap<string, string>): Told['peers'] {
  const replicas = [...fields].flatMap(([name, value]) => {
    const [, host = '', port = ''] = (/^slave\d+$/.test(name) && /^ip=([^,]+),port=(\d+),/.exec(value)) || [];
    return host === '' ? [] : [{ host, port: Number(port) }];
  });
  const [host, port] = [fields.get('master_host'), fields.get('master_port')];
  return host === undefined || port === undefined ? replicas : [...replicas, { host, port: Number(port) }];
}
