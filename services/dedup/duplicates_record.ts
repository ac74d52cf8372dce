import type { InBatch } from '#infra/kafka/consumer/in_batch.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { DroppedEvent } from '#pipelines/dedup/dedup.ts';
import { duplicatesOf } from '#pipelines/dedup/duplicates.ts';
import type { Duplicates } from '#schemas/records.ts';

export interface DuplicatesWriter {
  /** The record of a batch's duplicates, for the transaction that drops them; none where there are none. */
  of(batch: Pick<InBatch, 'partition'>, dropped: readonly DroppedEvent[]): OutRecord[];
}

/** Writes dedup.duplicates. A record of it is no longer than the batch whose copies it lists: an event holds more than its line there. */
export async function openDuplicates(registry: Registry): Promise<DuplicatesWriter> {
  const codec = await createCodec<Duplicates>(registry, TOPICS.duplicates, 'duplicates');
  return {
    of({ partition }, dropped) {
      if (dropped.length === 0) return [];
      return [{ topic: TOPICS.duplicates, partition, value: codec.encode({ duplicates: duplicatesOf(dropped) }) }];
    },
  };
}
