import type { InBatch } from '#infra/kafka/consumer/consume.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Codec } from '#infra/registry/codec.ts';
import type { RawEntry } from '#pipelines/dedup/dedup.ts';
import { countsOf } from '#pipelines/quota/counts.ts';
import type { EntryView } from '#schemas/event_batch.ts';
import type { QuotaCounts } from '#schemas/records.ts';
import { readReserved } from '#schemas/reserved.ts';

/**
 * What the batch counts for whom, for the transaction that passes its events on. It is written even where nothing counts:
 * it also says up to where the partition is done.
 */
export function countsRecord(
  { partition, records }: InBatch,
  read: readonly { offset: number; views: readonly EntryView[] }[],
  passed: readonly RawEntry[],
  codec: Codec<QuotaCounts>,
): OutRecord {
  const reserved = new Map(records.map(({ offset, headers }) => [offset, readReserved(headers)]));
  const raw = read.map(({ offset, views }) => ({ offset, views, reserved: reserved.get(offset) ?? null }));
  const last = records.at(-1)?.offset ?? -1;
  const value = codec.encode({ partition, next_offset: last + 1, counts: countsOf(raw, passed) });
  return { topic: TOPICS.counts, partition, value };
}
