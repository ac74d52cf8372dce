// Connections to Redis: to one server, to a cluster, or to the master that Sentinels name.

import { Cluster, type ClusterOptions, type Command, Redis as Server } from 'ioredis';
import type { Logger } from '#infra/log/logger.ts';
import { readRedisAddress } from './address.ts';

export type { Server };

/** A connection to one server, or those to the nodes of a cluster. */
export type Redis = Server | Cluster;

const COMMAND_TIMEOUT_MS = 3_000;
const RECONNECT_MS_MAX = 1_000;
/** A node that does not come back in time has failed over, or is asked for by the next command. */
const RETRY_MS = 100;
/** How soon nodes that joined or left without any command being redirected are known. */
const SLOTS_REFRESH_MS = 5_000;

const reconnectMs = (attempt: number): number => Math.min(attempt * 50, RECONNECT_MS_MAX);

const COMMANDS = {
  commandTimeout: COMMAND_TIMEOUT_MS,
  maxRetriesPerRequest: 2,
  enableAutoPipelining: false,
};

/** The client sets no deadline to what waits until a cluster is known. */
class BoundedCluster extends Cluster {
  override sendCommand(command: Command, ...rest: unknown[]): unknown {
    command.setTimeout(COMMAND_TIMEOUT_MS);
    return super.sendCommand(command, ...(rest as [never, never]));
  }
}

/**
 * Connections that reconnect by themselves; commands fail rather than wait when there is none.
 *
 * @param url See readRedisAddress.
 * @param isCluster Whether a single node is one of a cluster.
 * @param resends Whether a command whose answer was lost with the connection is sent again by the client, as is right where to do it
 *   twice is to do it once. Else it fails.
 */
export function createRedis(url: string, logger: Logger, isCluster = false, resends = true): Redis {
  const redis = connect(url, isCluster, resends);
  redis.on('error', (error: Error & { lastNodeError?: Error }) => {
    const isAlone = error.lastNodeError?.message.includes('cluster support disabled') === true;
    logger.warn({ reason: isAlone ? 'not_a_cluster' : error.name }, 'redis connection failed');
  });
  return redis;
}

function connect(url: string, isCluster: boolean, resends: boolean): Redis {
  const commands = resends ? COMMANDS : { ...COMMANDS, maxRetriesPerRequest: 0 };
  const address = readRedisAddress(url, isCluster);
  const { username, password, isTls } = address;
  const login = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(isTls ? { tls: {} } : {}),
  };
  switch (address.kind) {
    case 'server':
      return new Server(url, { ...commands, retryStrategy: reconnectMs, reconnectOnError });
    case 'cluster':
      return new BoundedCluster(address.nodes, {
        ...CLUSTER,
        ...(resends ? {} : { retryDelayOnFailover: 0 }),
        redisOptions: { ...commands, ...login },
      });
    case 'sentinel':
      return new Server({
        ...commands,
        ...login,
        retryStrategy: reconnectMs,
        reconnectOnError,
        sentinels: address.nodes,
        name: address.master,
        db: address.database,
        ...(address.sentinel.username === undefined ? {} : { sentinelUsername: address.sentinel.username }),
        ...(address.sentinel.password === undefined ? {} : { sentinelPassword: address.sentinel.password }),
        ...(isTls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
        sentinelRetryStrategy: reconnectMs,
        sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
        // A master that was cut off still takes writes: the Sentinels tell that there is another.
        failoverDetector: true,
      });
    default:
      return address satisfies never;
  }
}

const CLUSTER = {
  clusterRetryStrategy: reconnectMs,
  retryDelayOnFailover: RETRY_MS,
  retryDelayOnClusterDown: RETRY_MS,
  retryDelayOnTryAgain: RETRY_MS,
  slotsRefreshInterval: SLOTS_REFRESH_MS,
  enableAutoPipelining: false,
  // Names are resolved when a node is connected to, so that its certificate is compared with its name.
  dnsLookup: (name, resolved) => resolved(null, name),
} satisfies ClusterOptions;

/** What a server was told that is a replica by now: it connects to the master again and tells that. */
const RESEND = 2;
const reconnectOnError = (error: Error): 2 | false => (error.message.startsWith('READONLY') ? RESEND : false);

/**
 * Each server by itself: the one, or the masters of a cluster that have slots; or what replicas of these are known. Those of a
 * cluster are known once it has answered anything.
 */
export function nodesOf(redis: Redis, role: 'master' | 'slave'): Server[] {
  if (redis instanceof Cluster) return redis.nodes(role);
  return role === 'master' ? [redis] : [];
}
