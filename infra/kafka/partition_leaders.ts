import type { Kafka } from 'kafkajs';

export type PartitionLeaders = Awaited<ReturnType<typeof openLeaders>>;

/**
 * Which broker leads each partition, as it was when it was last asked. Opens an admin client of its own: asked for the
 * metadata of some topics, the client forgets that of all others, which those may be in the middle of using that share it
 * (BrokerPool.refreshMetadata, kafkajs 2.2.4).
 */
export async function openLeaders(kafka: Kafka) {
  const admin = kafka.admin();
  await admin.connect();
  const known = new Map<string, ReadonlyMap<number, number>>();
  return {
    /** Asks for what is not known of these topics. */
    async learn(topics: readonly string[]): Promise<void> {
      const unknown = topics.filter((topic) => !known.has(topic));
      if (unknown.length === 0) return;
      const { topics: found } = await admin.fetchTopicMetadata({ topics: unknown });
      for (const { name, partitions } of found) {
        known.set(name, new Map(partitions.map(({ partitionId, leader }) => [partitionId, leader])));
      }
    },
    /** The id of the broker; undefined where it is not known. */
    of: (topic: string, partition: number): number | undefined => known.get(topic)?.get(partition),
    /** A request failed, perhaps as a leader has moved: who leads is to be asked anew. */
    forget: (): void => known.clear(),
    close: (): Promise<void> => admin.disconnect(),
  };
}
