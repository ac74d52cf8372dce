import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { IndexLostError, RedisUnavailableError } from './client.ts';

export interface Script {
  run(keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

/** What a script of an index answers when the index is not whole. */
const LOST = 'lost';

/** A Lua file beside this module, called by its digest and loaded when Redis does not know it. */
export function createScript(redis: Redis, file: string): Script {
  return createScriptOf(redis, read(file));
}

/**
 * Lua files, one after the other, that work on an index: they can ask whether that is whole. Throws IndexLostError when
 * they say it is not.
 */
export function createIndexScript(redis: Redis, ...files: readonly string[]): Script {
  const script = createScriptOf(redis, ['whole.lua', ...files].map(read).join('\n'));
  return {
    async run(keys, args) {
      const answer = await script.run(keys, args);
      if (answer === LOST) throw new IndexLostError('redis lost what it held');
      return answer;
    },
  };
}

function read(file: string): string {
  return readFileSync(new URL(`./${file}`, import.meta.url), 'utf8');
}

function createScriptOf(redis: Redis, text: string): Script {
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
