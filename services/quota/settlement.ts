// Settles the counts of accepted events into months, and writes them as usage records.
import { failpoint } from '#infra/failpoint.ts';
import { endOf, type InBatch } from '#infra/kafka/consumer/consumption.ts';
import type { KeyedProducer } from '#infra/kafka/producers.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { Codec } from '#infra/registry/codec.ts';
import type { Tracer } from '#infra/tracing/tracer.ts';
import { byLog, countedEvents, type SettledUsage, type Settlement, settlementsOf } from '#pipelines/quota/settle.ts';
import { createDeadLetter } from '#pipelines/redelivery/dead_letter.ts';
import type { DeadLetter, QuotaCounts, QuotaUsage } from '#schemas/records.ts';
import { partitionOf } from '#schemas/wire.ts';
import { beginBatchSpans } from '#services/stage/batch_spans.ts';
import { count, deadRecords, emptyBatchCounts, publishBatchCounts } from '#services/stage/batches.ts';
import type { Partitions } from './partitions.ts';

interface SettlementOptions {
  partitions: Pick<Partitions, 'settle'>;
  counts: Codec<QuotaCounts>;
  usage: Codec<QuotaUsage>;
  deadLetters: Codec<DeadLetter>;
  producer: Pick<KeyedProducer, 'send'>;
  metrics: QuotaMetrics;
  tracer: Tracer | null;
  groupId: string;
  /** Of the topics of usage and dead letters. */
  smallPartitions: number;
}

/**
 * Settles a batch of quota.counts in Redis, publishes usage and dead letters, then commits its offset, in whose metadata
 * the next offset of events.raw to settle is kept.
 */
export function createSettlement(options: SettlementOptions) {
  const { partitions, counts, usage, deadLetters, producer, metrics, tracer, groupId, smallPartitions } = options;
  return async (
    batch: InBatch,
    commit: (offset: number, nextRawOffset: string) => Promise<void>,
  ): Promise<undefined> => {
    const startedMs = Date.now();
    if (batch.records.length === 0) return undefined;
    const spans = beginBatchSpans(tracer, batch, { groupId, startMs: startedMs });
    const read = await readCounts(batch, counts, startedMs);
    const events = countedEvents(read.counts);
    const tally = emptyBatchCounts();
    const deadLetterRecords = deadRecords('quota', read.dead, deadLetters, tally, smallPartitions);
    let checkpointed = 0;
    for (const counted of byLog(read.counts)) {
      const settlements = settlementsOf(counted);
      const upTo = { settledOffset: counted.at(-1)?.next_offset ?? 0, log: counted[0]?.log ?? '' };
      checkpointed = await partitions.settle(batch.partition, settlements, upTo, async (settled) => {
        failpoint('quota.after_settle');
        await producer.send([
          ...deadLetterRecords.splice(0),
          ...usageRecords(settlements, settled, usage, smallPartitions),
        ]);
        failpoint('quota.after_usage');
      });
    }
    await commit(endOf(batch), String(checkpointed));
    failpoint('quota.after_commit');
    tally.in += events.unique;
    tally.passed = events.unique - events.withoutAccount;
    if (events.withoutAccount > 0) count(tally.dropped, 'no_account', events.withoutAccount);
    metrics.settled(tally.passed);
    if (events.duplicate > 0) metrics.released('duplicate', events.duplicate);
    publishBatchCounts(metrics.stage, tally, startedMs, Date.now());
    spans?.end(Date.now());
    return undefined;
  };
}

/** The readable records of a batch of quota.counts, and dead letters for the others: each is read by itself. */
export async function readCounts(batch: InBatch, codec: Codec<QuotaCounts>, nowMs: number) {
  const read: { counts: QuotaCounts[]; dead: DeadLetter[] } = { counts: [], dead: [] };
  for (const { offset, value } of batch.records) {
    const decoded = await codec.decode(value);
    if (decoded.ok) read.counts.push(decoded.value);
    else {
      const place = { stage: 'quota', topic: batch.topic, partition: batch.partition, offset, index: -1 };
      read.dead.push(createDeadLetter(place, decoded.reason, '', value, nowMs));
    }
  }
  return read;
}

/** What is published of settlements; the same place for the same account, month and partition. */
function usageRecords(
  settlements: readonly Settlement[],
  settled: readonly SettledUsage[],
  codec: Codec<QuotaUsage>,
  partitions: number,
): OutRecord[] {
  return settlements.map((settlement, index) => {
    const { accountId, month, partition, newestMs } = settlement;
    const { used, settledOffset, log } = settled[index] as SettledUsage;
    const key = `${accountId}/${month}/${partition}`;
    const place = { settled_offset: settledOffset, log };
    const fact = { account_id: accountId, month, partition, used, ...place, settled_at: newestMs };
    return { topic: TOPICS.usage, partition: partitionOf(key, partitions), key, value: codec.encode(fact) };
  });
}

export type QuotaMetrics = ReturnType<typeof createQuotaMetrics>;

/** What quota counts beside the flow of events. */
export function createQuotaMetrics(stage: Metrics) {
  const settled = stage.counter('svc_quota_settled_total', 'Unique events settled against an allowance', []);
  const released = stage.counter('svc_quota_released_total', 'Reserved events that were released', ['reason']);
  const restored = stage.counter('svc_quota_restored_total', 'Partitions whose lost counters were restored', []);
  return {
    stage,
    settled: (events: number): void => settled.inc(events),
    /** Reserved events that were released: `duplicate`, or `never_arrived` where their edge died. */
    released: (reason: 'duplicate' | 'never_arrived', events: number): void => released.inc({ reason }, events),
    restored: (): void => restored.inc(),
  };
}
