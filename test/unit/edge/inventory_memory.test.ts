import { expect, test } from 'vitest';
import { createLogger } from '#infra/log/logger.ts';
import type { Redis } from '#infra/redis/client.ts';
import { createInventoryMemory } from '#infra/redis/inventory.ts';

test('while Redis is away every inventory is new, and none fails', async () => {
  const away = async (): Promise<never> => {
    throw new Error('Connection is closed.');
  };
  const memory = createInventoryMemory({ get: away, set: away } as unknown as Redis, createLogger('test', 'silent'));
  expect(await memory.isKnown('key', '/page', 'hash')).toBe(false);
  await expect(memory.remember('key', '/page', 'hash')).resolves.toBeUndefined();
});
