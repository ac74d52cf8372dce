import { onTestFinished } from 'vitest';
import { followTopic } from '#infra/kafka/follow_topic.ts';
import { explicitPartitioner } from '#infra/kafka/producers.ts';
import { kafkaOf, uniqueName } from '#test/harness/kafka.ts';
import type { KafkaFixture } from './stage_fixture.ts';

export const COMPACT = { 'cleanup.policy': 'compact' };

/** A table that follows a topic as settings do. */
export async function follow(world: KafkaFixture, topic: string) {
  const table = new Map<string, string>();
  const client = kafkaOf(world.brokers, uniqueName('follower'));
  const following = await followTopic({
    kafka: client,
    topic,
    groupPrefix: 'test',
    onRecord(key, value) {
      if (value === null) table.delete(key);
      else table.set(key, value.toString());
    },
    onFatal: (error) => {
      throw error;
    },
  });
  onTestFinished(() => following.stop());
  return { table, following };
}

/** Writes a value, or a tombstone, as the only record of a send. */
export async function write(
  { brokers }: KafkaFixture,
  topic: string,
  key: string,
  value: string | null,
): Promise<void> {
  const producer = kafkaOf(brokers).producer({ createPartitioner: explicitPartitioner });
  await producer.connect();
  await producer.send({ topic, acks: -1, messages: [{ partition: 0, key, value }] });
  await producer.disconnect();
}
