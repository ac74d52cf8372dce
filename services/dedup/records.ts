// Which events dedup reads, and the records that it writes.
import { endOf, type InBatch } from '#infra/kafka/consumer/consumption.ts';
import type { TopicIds } from '#infra/kafka/offsets.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { type DroppedEvent, duplicatesOf, type RawEntry } from '#pipelines/dedup/dedup.ts';
import { countsOf } from '#pipelines/quota/settle.ts';
import { memoize } from '#pipelines/stage.ts';
import { noPerson } from '#schemas/event_batch.ts';
import type { Duplicates, QuotaCounts } from '#schemas/records.ts';
import { traceHeaders } from '#schemas/trace_context.ts';
import { readReserved, visitorPartition } from '#schemas/wire.ts';
import type { BatchSpans } from '#services/stage/batch_spans.ts';
import { packBatches, type ReadRecord } from '#services/stage/batches.ts';
import type { BatchRead } from '#services/stage/event_stage.ts';

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
export function passedEvents(
  passed: readonly RawEntry[],
  schemaId: number,
  partitions: number,
  spans: BatchSpans | null,
): OutRecord[] {
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
    spans,
  );
}

export async function openCounts(registry: Registry, rawTopicId: Pick<ReturnType<typeof createRawTopicId>, 'of'>) {
  const codec = await createCodec<QuotaCounts>(registry, TOPICS.counts, 'quota_counts');

  /**
   * What the batch counts for whom, for the transaction that passes its events on. It is written even where nothing counts:
   * it also says up to where the partition is done.
   */
  async function of({ batch, records: read, spans }: BatchRead, passed: readonly RawEntry[]): Promise<OutRecord> {
    const { partition, records } = batch;
    const log = await rawTopicId.of({ partition, records });
    const reserved = new Map(records.map(({ offset, headers }) => [offset, readReserved(headers)]));
    const raw = read.map(({ offset, views }) => ({ offset, views, reserved: reserved.get(offset) ?? null }));
    // Behind markers as well: what a dead edge held is given back when all of the partition is settled.
    const value = codec.encode({ partition, next_offset: endOf(batch), log, counts: countsOf(raw, passed) });
    const headers = spans === null ? undefined : traceHeaders(spans.all);
    return { topic: TOPICS.counts, partition, value, ...(headers && { headers }) };
  }

  return {
    of,
    /** The same for a batch of which nothing can be read: it counts for no account. */
    ofUnread: (batch: BatchRead['batch']): Promise<OutRecord> => of({ batch, records: [], spans: null }, []),
  };
}

/**
 * Writes dedup.duplicates. A record of it is no longer than the batch whose copies it lists: an event holds more than its
 * line there.
 */
export async function openDuplicates(registry: Registry) {
  const codec = await createCodec<Duplicates>(registry, TOPICS.duplicates, 'duplicates');
  return {
    /** The record of a batch's duplicates, for the transaction that drops them; none where there are none. */
    of({ partition }: Pick<InBatch, 'partition'>, dropped: readonly DroppedEvent[]): OutRecord[] {
      if (dropped.length === 0) return [];
      return [{ topic: TOPICS.duplicates, partition, value: codec.encode({ duplicates: duplicatesOf(dropped) }) }];
    },
  };
}

/**
 * Which events.raw a batch is of; asks again where a partition's offsets do not go on, as those of a topic that was made
 * anew do not.
 */
export function createRawTopicId(ids: Pick<TopicIds, 'of'>) {
  const seen = new Map<number, { log: string; offset: number }>();
  return {
    /** The id of the topic; offsets of one that was made anew under its name are others. */
    async of({ partition, records }: { partition: number; records: readonly { offset: number }[] }): Promise<string> {
      const [first, last] = [records[0]?.offset ?? 0, records.at(-1)?.offset ?? 0];
      const before = seen.get(partition);
      const goesOn = before !== undefined && before.offset < first;
      const log = goesOn ? before.log : await ids.of(TOPICS.raw);
      seen.set(partition, { log, offset: last });
      return log;
    },
  };
}
