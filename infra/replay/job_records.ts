import type { PartitionRecords } from '#infra/kafka/producer/fenced_producer.ts';
import { SMALL_PARTITIONS } from '#infra/kafka/topics.ts';
import type { Codec } from '#infra/registry/codec.ts';
import { replayTopic } from '#pipelines/delivery/lanes.ts';
import { cutJobs } from '#pipelines/replay/jobs.ts';
import { createBatchWriter, type EntryView } from '#schemas/event_batch.ts';
import { partitionOf } from '#schemas/partition.ts';
import type { DeliveryJobRecord } from '#schemas/records.ts';

/** What a replay writes for a destination's delivery: the events as first attempts, due at once. */
export function jobRecords(
  destination: string,
  chosen: readonly EntryView[],
  codec: Codec<DeliveryJobRecord>,
  eventSchemaId: number,
): PartitionRecords[] {
  return cutJobs(chosen).map((views) => {
    const siteId = views[0]?.siteId ?? '';
    const writer = createBatchWriter(eventSchemaId);
    for (const { coordinate, personBytes, eventBytes } of views) writer.add(coordinate, personBytes, eventBytes);
    const facts = { site_id: siteId, attempt: 1, due_at: 0, first_attempted_at: 0, reason: 'replay' };
    const value = codec.encode({ ...facts, batch: writer.finish() });
    return [replayTopic(destination), partitionOf(siteId, SMALL_PARTITIONS), [{ key: null, value }]];
  });
}
