import { Redis } from 'ioredis';
import type { Logger } from '#infra/log/logger.ts';

export type { Redis };

const COMMAND_TIMEOUT_MS = 3_000;
const RECONNECT_MS_MAX = 1_000;

/**
 * Redis did not answer, or answered with an error, for example that its memory is full. The command may have taken effect;
 * to try again is safe, however often.
 */
export class RedisUnavailableError extends Error {
  readonly code = 'redis_unavailable';
  readonly recovery = 'wait';
}

/** An index is not whole: Redis was emptied, restarted or replaced since it was made. Nothing was done. */
export class IndexLostError extends Error {
  readonly code = 'index_lost';
  readonly recovery = 'wait';
}

/**
 * Redis is configured to evict keys when its memory is full; claims and counters would then disappear without an error.
 */
class RedisEvictsError extends Error {
  readonly code = 'redis_evicts';
}

/** A connection that reconnects by itself; commands fail rather than wait when there is none. */
export function createRedis(url: string, logger: Logger): Redis {
  const redis = new Redis(url, {
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 2,
    enableAutoPipelining: false,
    retryStrategy: (attempt) => Math.min(attempt * 50, RECONNECT_MS_MAX),
  });
  redis.on('error', (error: Error) => logger.warn({ reason: error.name }, 'redis connection failed'));
  return redis;
}

/** Runs a command and turns the client's error into ours. Its message may quote arguments, so it is not carried on. */
export async function asked<T>(command: Promise<T>): Promise<T> {
  try {
    return await command;
  } catch (error) {
    throw new RedisUnavailableError(`redis: ${error instanceof Error ? error.name : 'error'}`);
  }
}

/**
 * Refuses a Redis that evicts keys. Throws RedisEvictsError, and RedisUnavailableError where it does not answer.
 */
export async function refuseEviction(redis: Redis): Promise<void> {
  const policy = /^maxmemory_policy:(\S+)/m.exec(await asked(redis.info('memory')))?.[1];
  if (policy !== undefined && policy !== 'noeviction') {
    throw new RedisEvictsError(`redis has maxmemory-policy ${policy}: set noeviction, keys must not vanish`);
  }
}
