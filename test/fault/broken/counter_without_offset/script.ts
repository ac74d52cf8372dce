import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { type Script, createScript as soundScript } from '#infra/redis/client.ts';

export * from '#infra/redis/client.ts';

const FOLDER = new URL('../../../../infra/redis/', import.meta.url);
const CONDITION = 'local fresh = next_offset > settled';

/** Broken: adds whatever it is given, settled before or not. */
export function createScript(redis: Redis, ...files: readonly string[]): Script {
  const [file = ''] = files;
  if (file !== 'quota/settle.lua') return soundScript(redis, ...files);
  const sound = readFileSync(new URL(file, FOLDER), 'utf8');
  if (!sound.includes(CONDITION)) throw new Error(`${file} has no longer what is to be broken: ${CONDITION}`);
  const text = sound.replace(CONDITION, 'local fresh = true');
  return { run: (keys, args) => redis.eval(text, keys.length, ...keys, ...args) };
}
