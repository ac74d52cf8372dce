import { expect, test } from 'vitest';
import type { Logger } from '#infra/log/logger.ts';
import type { QuotaStore, Settlement } from '#pipelines/quota/settle.ts';
import { createRawTopicId } from '#services/dedup/records.ts';
import { createPartitions } from '#services/quota/settlement.ts';

const batch = (...offsets: number[]) => ({ partition: 2, records: offsets.map((offset) => ({ offset })) });

test('which events.raw a batch is of is asked where offsets do not go on', async () => {
  const asked = { log: 'one', times: 0 };
  const rawTopicId = createRawTopicId({
    async of() {
      asked.times++;
      return asked.log;
    },
  });
  expect(await rawTopicId.of(batch(40, 41))).toBe('one');
  expect(await rawTopicId.of(batch(42))).toBe('one');
  expect(await rawTopicId.of({ ...batch(3), partition: 3 })).toBe('one');
  expect(asked.times).toBe(2);
  asked.log = 'two';
  expect(await rawTopicId.of(batch(0))).toBe('two');
  expect(await rawTopicId.of(batch(1))).toBe('two');
  expect(asked.times).toBe(3);
});

test('the checkpoint goes back with an events.raw that was made anew, and settlements say which it is', async () => {
  const checkpoints = new Map([[0, { nextOffset: 1_000, generation: 'g' }]]);
  const settled: Settlement[] = [];
  const store: Partial<QuotaStore> = {
    checkpoints: async () => checkpoints,
    async checkpoint(partition, nextOffset, generation) {
      checkpoints.set(partition, { nextOffset, generation });
      return true;
    },
    async settle(settlement) {
      settled.push(settlement);
      return { used: 1, settledOffset: 10, log: settlement.log, released: 0 };
    },
  };
  const partitions = createPartitions({
    store: store as QuotaStore,
    newGeneration: () => 'g',
    readFacts: async () => new Map(),
    committedOffset: async () => 1_000,
    isClosed: () => false,
    onRestored: () => undefined,
    logger: { warn: () => undefined } as unknown as Logger,
  });
  const of = (log: string): Settlement => ({
    accountId: 'a',
    month: '2026-10',
    partition: 0,
    log,
    ranges: [],
    newestMs: 0,
  });
  const done = async () => undefined;
  await partitions.load(0);
  expect(await partitions.settle(0, [of('one')], { settledOffset: 1_001, log: 'one' }, done)).toBe(1_001);
  expect(await partitions.settle(0, [of('two')], { settledOffset: 10, log: 'two' }, done)).toBe(10);
  expect(checkpoints.get(0)?.nextOffset).toBe(10);
  expect(settled.map(({ log }) => log)).toEqual(['one', 'two']);
});
