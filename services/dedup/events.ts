import type { InBatch } from '#infra/kafka/consumer/in_batch.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { RawEntry } from '#pipelines/dedup/dedup.ts';
import { memoize } from '#pipelines/memoize.ts';
import { noPerson } from '#schemas/event_batch.ts';
import { visitorPartition } from '#schemas/partition.ts';
import { packBatches, type ReadRecord } from '#services/batches.ts';

/**
 * The events of a record of events.raw, each with its coordinate: where it stands, or, where it was sent in again, the one it
 * came with, by which it may hold its claim already.
 */
export function rawEvents({ offset, views }: ReadRecord, { partition }: InBatch): RawEntry[] {
  return views.map((view, index) => ({
    view,
    coordinate: view.coordinate ?? { partition, offset, index },
    recordOffset: offset,
  }));
}

/** What passes, as records of events.unique on the visitors' partitions. */
export function passedEvents(passed: readonly RawEntry[], schemaId: number, partitions: number): OutRecord[] {
  const partitionIn = memoize((siteId: string) =>
    memoize((distinctId: string) => visitorPartition(siteId, distinctId, partitions)),
  );
  return packBatches(
    TOPICS.unique,
    schemaId,
    passed.map(({ view, coordinate }) => ({
      partition: partitionIn(view.siteId)(view.distinctId),
      coordinate,
      personBytes: noPerson(),
      eventBytes: view.eventBytes,
    })),
  );
}
