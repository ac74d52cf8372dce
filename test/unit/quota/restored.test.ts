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
