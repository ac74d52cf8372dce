import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { RedisUnavailableError } from './client.ts';

export interface Script {
  run(keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

/** A Lua file beside this module, called by its digest and loaded when Redis does not know it. */
export function createScript(redis: Redis, file: string): Script {
  const text = readFileSync(new URL(`./${file}`, import.meta.url), 'utf8');
  const digest = hash('sha1', text, 'hex');
  return {
    async run(keys, args) {
      try {
        return await redis.evalsha(digest, keys.length, ...keys, ...args);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw refused(error);
      }
      try {
        return await redis.eval(text, keys.length, ...keys, ...args);
      } catch (error) {
        throw refused(error);
      }
    },
  };
}

/** Keeps the error's kind and drops its text, which may quote arguments. */
function refused(error: unknown): RedisUnavailableError {
  const kind = error instanceof Error ? (/^[A-Z]{3,20}\b/.exec(error.message)?.[0] ?? error.name) : 'error';
  return new RedisUnavailableError(`redis script failed: ${kind}`);
}
