import type { Kafka, TopicMessages } from 'kafkajs';
import { nameOf } from '#infra/kafka/consumer/partition_state.ts';
import type { OutRecord } from '#infra/kafka/record.ts';

/** Which broker leads each partition, as it was when it was last asked. */
export interface Leaders {
  /** What is to be sent, as one request for each broker, or several in this order where one partition gets much. */
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

/**
 * What a partition gets in one request, which is one batch and refused as a whole where it is greater than a topic takes
 * (8 MiB); half of that, as what cannot be compressed grows by its frame.
 */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Records as one request for each broker, in each of them topic by topic; those of no known leader are one more. What is too
 * much for one batch of a partition goes into requests behind them.
 */
export function requestsByLeader(
  records: readonly OutRecord[],
  leaderOf: (topic: string, partition: number) => number | undefined,
  batchBytesMax = BATCH_BYTES_MAX,
): TopicMessages[][] {
  return roundsOf(records, batchBytesMax).flatMap((round) => {
    const ofLeaders = Map.groupBy(round, ({ topic, partition }) => leaderOf(topic, partition));
    return [...ofLeaders.values()].map((ofLeader) =>
      [...Map.groupBy(ofLeader, ({ topic }) => topic)].map(([topic, ofTopic]) => ({
        topic,
        messages: ofTopic.map(({ partition, key, value }) => ({ partition, key: key ?? null, value })),
      })),
    );
  });
}

/** Each partition's records in order over the rounds, in none of which it has more bytes unless that is one record. */
function roundsOf(records: readonly OutRecord[], bytesMax: number): OutRecord[][] {
  const reached = new Map<string, { round: number; bytes: number }>();
  function roundOf(record: OutRecord): number {
    const { round, bytes } = reached.get(nameOf(record)) ?? { round: 0, bytes: 0 };
    const fits = bytes === 0 || bytes + record.value.length <= bytesMax;
    const at = fits ? { round, bytes } : { round: round + 1, bytes: 0 };
    reached.set(nameOf(record), { round: at.round, bytes: at.bytes + record.value.length });
    return at.round;
  }
  return [...Map.groupBy(records, roundOf).values()];
}
