import { failpoint } from '#infra/failpoint/failpoint.ts';
import { endOf, type InBatch } from '#infra/kafka/consumer/in_batch.ts';
import { count, emptyTally, publish } from '#infra/kafka/counting.ts';
import type { KeyedProducer } from '#infra/kafka/producer/keyed_producer.ts';
import { SMALL_PARTITIONS, TOPICS } from '#infra/kafka/topics.ts';
import { type Codec, createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { byLog, countedEvents, settlementsOf } from '#pipelines/quota/settle.ts';
import type { DeadLetter, QuotaCounts, QuotaUsage } from '#schemas/records.ts';
import { deadRecords } from '#services/batches.ts';
import type { Partitions } from './partitions.ts';
import type { QuotaMetrics } from './quota_metrics.ts';
import { readCounts } from './read_counts.ts';
import { usageRecords } from './usage_records.ts';

export interface SettlementOptions {
  registry: Registry;
  partitions: Pick<Partitions, 'settle'>;
  usage: Codec<QuotaUsage>;
  deadLetters: Codec<DeadLetter>;
  producer: Pick<KeyedProducer, 'send'>;
  metrics: QuotaMetrics;
}

export interface SettlementOfBatches {
  /**
   * Settles a batch of quota.counts in Redis, publishes usage and dead letters, then commits its offset, in whose metadata
   * the next offset of events.raw to settle is kept.
   */
  settleThenCommit(
    batch: InBatch,
    commit: (offset: number, nextRawOffset: string) => Promise<void>,
  ): Promise<undefined>;
}

export async function createSettlement(options: SettlementOptions): Promise<SettlementOfBatches> {
  const { registry, partitions, usage, deadLetters, producer, metrics } = options;
  const counts = await createCodec<QuotaCounts>(registry, TOPICS.counts, 'quota_counts');
  return {
    async settleThenCommit(batch, commit) {
      const startedMs = Date.now();
      if (batch.records.length === 0) return undefined;
      const read = await readCounts(batch, counts, startedMs);
      const events = countedEvents(read.counts);
      const tally = emptyTally();
      const letters = deadRecords('quota', read.dead, deadLetters, tally, SMALL_PARTITIONS);
      let checkpointed = 0;
      for (const counted of byLog(read.counts)) {
        const settlements = settlementsOf(counted);
        const upTo = { settledOffset: counted.at(-1)?.next_offset ?? 0, log: counted[0]?.log ?? '' };
        checkpointed = await partitions.settle(batch.partition, settlements, upTo, async (settled) => {
          failpoint('quota.after_settle');
          await producer.send([...letters.splice(0), ...usageRecords(settlements, settled, usage)]);
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
      publish(metrics.stage, tally, startedMs, Date.now());
      return undefined;
    },
  };
}
