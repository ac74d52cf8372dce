import { expect, test } from 'vitest';
import type { Logger } from '#infra/log/logger.ts';
import type { QuotaStore } from '#pipelines/quota/settle.ts';
import { createPartitions, type KnownUsage } from '#services/quota/settlement.ts';

const ACCOUNTS = 60_000;

test('counters of many accounts are put back side by side, and whoever watches hears of it as it goes on', async () => {
  const known: KnownUsage = new Map();
  for (let account = 0; account < ACCOUNTS; account++) {
    const month = { accountId: `a${account}`, month: '2026-11' };
    known.set(`a${account} 2026-11`, { ...month, used: 1, settledOffset: 9, log: 'one' });
  }
  const seen = { settled: 0, underWay: 0, most: 0, dropped: 0 };
  const store: Partial<QuotaStore> = {
    checkpoints: async () => new Map(),
    begin: async () => undefined,
    checkpoint: async () => true,
    async settle(settlement, { used, settledOffset }) {
      seen.settled++;
      seen.most = Math.max(seen.most, ++seen.underWay);
      await Promise.resolve();
      seen.underWay--;
      return { used, settledOffset, log: settlement.log, released: 0 };
    },
    async dropReservations() {
      seen.dropped++;
    },
  };
  const partitions = createPartitions({
    store: store as QuotaStore,
    newGeneration: () => 'g',
    readFacts: async () => new Map([[0, known]]),
    committedOffset: async () => 9,
    isClosed: () => false,
    onRestored: () => undefined,
    logger: { warn: () => undefined } as unknown as Logger,
  });
  let longest = 0;
  let before = 0;
  await partitions.load(0, () => {
    longest = Math.max(longest, seen.settled - before);
    before = seen.settled;
  });
  expect([seen.settled, seen.dropped, before]).toEqual([ACCOUNTS, ACCOUNTS, ACCOUNTS]);
  expect([seen.most, longest]).toEqual([500, 500]);
});

test('counters are put back where the generations are gone with a master, also for whoever takes the partition then', async () => {
  const month = { accountId: 'a', month: '2026-11', used: 500, settledOffset: 1_000, log: 'one' };
  let inRedis = 0;
  let generation = '';
  const store: Partial<QuotaStore> = {
    checkpoints: async () => new Map([[0, { nextOffset: 1_000, generation }]]),
    async begin(_partition, begun) {
      generation = begun;
    },
    checkpoint: async (_partition, _offset, of) => of === generation,
    async settle({ log }, { used, settledOffset }) {
      inRedis = Math.max(inRedis, used);
      return { used: inRedis, settledOffset, log, released: 0 };
    },
    dropReservations: async () => undefined,
  };
  const partitions = createPartitions({
    store: store as QuotaStore,
    newGeneration: () => 'g',
    readFacts: async () => new Map([[0, new Map([['a 2026-11', month]])]]),
    committedOffset: async () => 1_000,
    isClosed: () => false,
    onRestored: () => undefined,
    logger: { warn: () => undefined } as unknown as Logger,
  });
  await partitions.load(0, () => undefined);
  expect({ inRedis, generation }).toEqual({ inRedis: 500, generation: 'g' });
});
