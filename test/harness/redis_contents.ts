import type { Redis } from 'ioredis';

/** Every key of a database of Redis, as it stands there. */
export async function keysOf(client: Redis): Promise<Buffer[]> {
  const keys: Buffer[] = [];
  for (let cursor = '0'; ; ) {
    const [next, some] = await client.scanBuffer(cursor, 'COUNT', 1_000);
    keys.push(...some);
    cursor = next.toString();
    if (cursor === '0') return keys;
  }
}

/** A key and what it holds, as text; of one that has expired meanwhile the key alone. */
export async function textOfKey(client: Redis, key: Buffer): Promise<Buffer> {
  const readers: Record<string, () => Promise<unknown>> = {
    none: async () => null,
    string: () => client.get(key),
    hash: () => client.hgetall(key),
    set: () => client.smembers(key),
    zset: () => client.zrange(key, 0, '-1'),
    list: () => client.lrange(key, 0, -1),
  };
  const type = await client.type(key);
  const reader = readers[type];
  if (reader === undefined) throw new Error(`${key.toString('latin1')}: no reader for a ${type}`);
  return Buffer.concat([key, Buffer.from(JSON.stringify(await reader()) ?? '')]);
}
