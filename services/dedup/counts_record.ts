import { endOf } from '#infra/kafka/consumer/in_batch.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { RawEntry } from '#pipelines/dedup/dedup.ts';
import { countsOf } from '#pipelines/quota/counts.ts';
import type { QuotaCounts } from '#schemas/records.ts';
import { readReserved } from '#schemas/reserved.ts';
import type { BatchRead } from '#services/event_stage.ts';
import type { RawLog } from './raw_log.ts';

export interface Counts {
  /**
   * What the batch counts for whom, for the transaction that passes its events on. It is written even where nothing counts:
   * it also says up to where the partition is done.
   */
  of(read: BatchRead, passed: readonly RawEntry[]): Promise<OutRecord>;
  /** The same for a batch of which nothing can be read: it counts for no account. */
  ofUnread(batch: BatchRead['batch']): Promise<OutRecord>;
}

/** Writes quota.counts. */
export async function openCounts(registry: Registry, rawLog: RawLog): Promise<Counts> {
  const codec = await createCodec<QuotaCounts>(registry, TOPICS.counts, 'quota_counts');
  const of: Counts['of'] = async ({ batch, records: read }, passed) => {
    const { partition, records } = batch;
    const log = await rawLog.of({ partition, records });
    const reserved = new Map(records.map(({ offset, headers }) => [offset, readReserved(headers)]));
    const raw = read.map(({ offset, views }) => ({ offset, views, reserved: reserved.get(offset) ?? null }));
    // Behind markers as well: what a dead edge held is given back when all of the partition is settled.
    const value = codec.encode({ partition, next_offset: endOf(batch), log, counts: countsOf(raw, passed) });
    return { topic: TOPICS.counts, partition, value };
  };

  return { of, ofUnread: (batch) => of({ batch, records: [] }, []) };
}
