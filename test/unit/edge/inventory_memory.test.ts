import { expect, test } from 'vitest';
import { createLogger } from '#infra/log/logger.ts';
import type { Redis } from '#infra/redis/connection.ts';
import { createInventoryMemory, INVENTORY_PAGES_MAX } from '#infra/redis/inventory.ts';

const SILENT = createLogger('test', 'silent');
const DAY_MS = 86_400_000;
const DAYS_KEPT = 7;

/** Hashes in this process, with the seconds that each has left. */
function memoryRedis() {
  const hashes = new Map<string, Map<string, string>>();
  const expiries = new Map<string, number>();
  const redis = {
    hlen: async (name: string) => hashes.get(name)?.size ?? 0,
    hget: async (name: string, field: string) => hashes.get(name)?.get(field) ?? null,
    hset: async (name: string, field: string, value: string) => {
      hashes.set(name, (hashes.get(name) ?? new Map<string, string>()).set(field, value));
    },
    expire: async (name: string, seconds: number) => expiries.set(name, seconds),
  } as unknown as Redis;
  return { redis, hashes, expiries };
}

test('while Redis is away every inventory is new, and none fails', async () => {
  const away = async (): Promise<never> => {
    throw new Error('Connection is closed.');
  };
  const redis = { hlen: away, hget: away, hset: away, expire: away } as unknown as Redis;
  const memory = createInventoryMemory(redis, SILENT, Date.now);
  expect(await memory.look('key', '/page', 'hash')).toBe('new');
  await expect(memory.remember('key', '/page', 'hash')).resolves.toBeUndefined();
});

test('a page is known by what was sent of it last, for a week', async () => {
  let nowMs = 100 * DAY_MS;
  const memory = createInventoryMemory(memoryRedis().redis, SILENT, () => nowMs);
  const look = (content: string) => memory.look('key', '/page', content);
  expect(await look('a')).toBe('new');
  await memory.remember('key', '/page', 'a');
  expect([await look('a'), await look('b'), await memory.look('other', '/page', 'a')]).toEqual(['known', 'new', 'new']);
  nowMs += DAY_MS;
  expect(await look('a')).toBe('known');
  await memory.remember('key', '/page', 'b');
  expect([await look('a'), await look('b')]).toEqual(['new', 'known']);
  nowMs += (DAYS_KEPT - 1) * DAY_MS;
  expect(await look('b')).toBe('known');
  nowMs += DAY_MS;
  expect(await look('b')).toBe('new');
});

test('a key has so many new pages in a day and no more, and what is kept of them ends', async () => {
  let nowMs = 100 * DAY_MS;
  const { redis, hashes, expiries } = memoryRedis();
  const memory = createInventoryMemory(redis, SILENT, () => nowMs);
  for (let page = 0; page < INVENTORY_PAGES_MAX; page += 1) await memory.remember('key', `/${page}`, 'a');
  expect(await memory.look('key', '/new', 'a')).toBe('full');
  expect(await memory.look('key', '/0', 'a')).toBe('known');
  expect(await memory.look('key', '/0', 'b')).toBe('new');
  expect(await memory.look('other', '/new', 'a')).toBe('new');
  expect([hashes.size, ...expiries.values()]).toEqual([1, (DAYS_KEPT * DAY_MS) / 1000]);
  nowMs += DAY_MS;
  expect(await memory.look('key', '/new', 'a')).toBe('new');
});
