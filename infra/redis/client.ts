import { Redis } from 'ioredis';
import type { Logger } from '#infra/log/logger.ts';

export type { Redis };

const COMMAND_TIMEOUT_MS = 3_000;
const RECONNECT_MS_MAX = 1_000;

/** Redis did not answer, or answered with an error. What was asked may have happened; asking again is safe. */
export class RedisUnavailableError extends Error {
  readonly code = 'redis_unavailable';
  readonly recovery = 'again';
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
