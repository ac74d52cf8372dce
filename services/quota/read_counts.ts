import type { InBatch } from '#infra/kafka/consumer/in_batch.ts';
import type { Codec } from '#infra/registry/codec.ts';
import { deadLetter } from '#pipelines/dead_letter.ts';
import type { DeadLetter, QuotaCounts } from '#schemas/records.ts';

/** The readable records of a batch of quota.counts, and dead letters for the others. */
export interface ReadCounts {
  counts: QuotaCounts[];
  dead: DeadLetter[];
}

/** Reads each record by itself, so that a poison record harms none beside it. */
export async function readCounts(batch: InBatch, codec: Codec<QuotaCounts>, nowMs: number): Promise<ReadCounts> {
  const read: ReadCounts = { counts: [], dead: [] };
  for (const { offset, value } of batch.records) {
    const decoded = await codec.decode(value);
    if (decoded.ok) read.counts.push(decoded.value);
    else {
      const place = { stage: 'quota', topic: batch.topic, partition: batch.partition, offset, index: -1 };
      read.dead.push(deadLetter(place, decoded.reason, '', value, nowMs));
    }
  }
  return read;
}
