import { randomUUID } from 'node:crypto';
import { committed } from '#infra/kafka/consumer/group_offsets.ts';
import { topicOffsets } from '#infra/kafka/reader/topic_offsets.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Codec } from '#infra/registry/codec.ts';
import { isClosed } from '#pipelines/quota/month.ts';
import type { QuotaStore } from '#pipelines/quota/settle.ts';
import type { QuotaUsage } from '#schemas/records.ts';
import type { Runtime } from '#services/runtime.ts';
import { createPartitions, type Partitions } from './partitions.ts';
import { createUsageReader } from './usage_facts.ts';

/** The partitions as Kafka knows them: usage from quota.usage, where settling goes on from the group's metadata. */
export function openPartitions(
  { stage, session, logger, fatal }: Runtime,
  store: QuotaStore,
  usage: Codec<QuotaUsage>,
  onRestored: () => void,
): Partitions {
  const groupId = session.groupOf(stage);
  const hasClosed = (month: string): boolean => isClosed(month, Date.now());
  return createPartitions({
    newGeneration: randomUUID,
    store,
    readFacts: createUsageReader({ session, codec: usage, logger, isClosed: hasClosed, onFatal: fatal }),
    committedOffset: async (partition) => {
      const found = await committed(session.admin, groupId, { topic: TOPICS.counts, partition });
      const ends = await topicOffsets(session.admin, TOPICS.raw);
      const end = Number(ends.find((one) => one.partition === partition)?.high ?? 0);
      // A topic that was made anew ends before what was settled of the one before it.
      return Math.min(Number(found?.metadata ?? 0), end);
    },
    isClosed: hasClosed,
    onRestored,
    logger,
  });
}
