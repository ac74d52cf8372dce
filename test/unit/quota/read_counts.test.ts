import { expect, test } from 'vitest';
import type { InBatch } from '#infra/kafka/consumer/consumption.ts';
import type { Codec } from '#infra/registry/codec.ts';
import type { QuotaCounts } from '#schemas/records.ts';
import { readCounts } from '#services/quota/settlement.ts';

test('a record of counts that cannot be read has a letter, and its neighbours are read', async () => {
  const codec = {
    decode: async (value: Buffer | null) =>
      value?.toString() === 'good' ? { ok: true, value: { of: 'good' } } : { ok: false, reason: 'avro_malformed' },
  } as unknown as Codec<QuotaCounts>;
  const values = ['good', 'bad', 'good'].map((text) => Buffer.from(text));
  const records = values.map((value, index) => ({ offset: 70 + index, value }));
  const batch = { topic: 'quota.counts', partition: 3, records } as unknown as InBatch;
  const { counts, dead } = await readCounts(batch, codec, 1_000);
  expect(counts).toHaveLength(2);
  expect(dead).toMatchObject([
    { stage: 'quota', topic: 'quota.counts', partition: 3, offset: 71, index: -1, reason: 'avro_malformed' },
  ]);
  expect(dead[0]?.bytes.toString()).toBe('bad');
});
