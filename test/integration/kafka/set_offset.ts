import type { Admin, Kafka } from '#infra/kafka/client.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';

/** Commits an offset of a partition (0 where none is named) for a group without members, with metadata, which the client's own function leaves out. */
export async function setOffset(
  { kafka, admin }: { kafka: Kafka; admin: Admin },
  { groupId, topic }: { groupId: string; topic: string },
  at: { partition?: number; offset: string; metadata: string },
): Promise<void> {
  const of = at.partition ?? 0;
  const producer = kafka.producer({ transactionalId: uniqueName('offsets'), maxInFlightRequests: 1 });
  await producer.connect();
  await until('the offset to be taken', async () => {
    const transaction = await producer.transaction();
    const topics = [{ topic, partitions: [{ ...at, partition: of }] }];
    await transaction.sendOffsets({ consumerGroupId: groupId, topics }).catch(async (error: unknown) => {
      await transaction.abort();
      throw error;
    });
    await transaction.commit();
    return true;
  });
  await producer.disconnect();
  await until('the offset to be seen', async () => {
    const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
    const seen = found?.partitions.find(({ partition }) => partition === of);
    return seen?.offset === at.offset && (seen.metadata ?? '') === at.metadata;
  });
}
