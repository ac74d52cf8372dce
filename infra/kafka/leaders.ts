import type { Kafka, TopicMessages } from 'kafkajs';
import type { OutRecord } from './record.ts';

/** Which broker leads each partition, as it was when it was last asked. */
export interface Leaders {
  /** What is to be sent, as one request for each broker. */
  requestsOf(records: readonly OutRecord[]): Promise<TopicMessages[][]>;
  /** A request failed, perhaps as a leader has moved: who leads is asked anew. */
  forget(): void;
  close(): Promise<void>;
}

/**
 * Opens an admin client of its own: asked for the metadata of some topics, the client forgets that of all others, which
 * those may be in the middle of using that share it (BrokerPool.refreshMetadata, kafkajs 2.2.4).
 */
export async function openLeaders(kafka: Kafka): Promise<Leaders> {
  const admin = kafka.admin();
  await admin.connect();
  const known = new Map<string, ReadonlyMap<number, number>>();

  async function learn(topics: readonly string[]): Promise<void> {
    const unknown = topics.filter((topic) => !known.has(topic));
    if (unknown.length === 0) return;
    const { topics: found } = await admin.fetchTopicMetadata({ topics: unknown });
    for (const { name, partitions } of found) {
      known.set(name, new Map(partitions.map(({ partitionId, leader }) => [partitionId, leader])));
    }
  }

  return {
    async requestsOf(records) {
      await learn([...new Set(records.map(({ topic }) => topic))]);
      return requestsByLeader(records, (topic, partition) => known.get(topic)?.get(partition));
    },
    forget: () => known.clear(),
    close: () => admin.disconnect(),
  };
}

/** Records as one request for each broker, in each of them topic by topic; those of no known leader are one more. */
export function requestsByLeader(
  records: readonly OutRecord[],
  leaderOf: (topic: string, partition: number) => number | undefined,
): TopicMessages[][] {
  const ofLeaders = Map.groupBy(records, ({ topic, partition }) => leaderOf(topic, partition));
  return [...ofLeaders.values()].map((ofLeader) =>
    [...Map.groupBy(ofLeader, ({ topic }) => topic)].map(([topic, ofTopic]) => ({
      topic,
      messages: ofTopic.map(({ partition, key, value }) => ({ partition, key: key ?? null, value })),
    })),
  );
}
