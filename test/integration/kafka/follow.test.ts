import { expect, onTestFinished, test } from 'vitest';
import { chosenPartition } from '#infra/kafka/producer/chosen_partition.ts';
import { followTopic } from '#infra/kafka/reader/follow_topic.ts';
import { createTopic, kafkaOf, produce, uniqueName } from '../support/kafka.ts';
import { until } from '../support/wait.ts';
import { type KafkaFixture, useKafka } from './stage_fixture.ts';

const TEST_MS = 90_000;
const COMPACT = { 'cleanup.policy': 'compact' };
const kafka = useKafka();

/** A table that follows a topic as settings do. */
async function follow(world: KafkaFixture, topic: string) {
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
async function write({ brokers }: KafkaFixture, topic: string, key: string, value: string | null): Promise<void> {
  const producer = kafkaOf(brokers).producer({ createPartitioner: chosenPartition });
  await producer.connect();
  await producer.send({ topic, acks: -1, messages: [{ partition: 0, key, value }] });
  await producer.disconnect();
}

test('what stood in the topic is there when following begins', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const topic = await createTopic(world.kafka, 'follow', 3, COMPACT);
  const texts = Array.from({ length: 300 }, (_, index) => ({
    partition: index % 3,
    key: `k${index}`,
    value: `v${index}`,
  }));
  await produce(world.kafka, topic, texts);
  const { table } = await follow(world, topic);
  expect(table).toEqual(new Map(texts.map(({ key, value }) => [key, value])));
});

test('an empty topic is followed at once, and changes arrive', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const topic = await createTopic(world.kafka, 'follow', 2, COMPACT);
  const { table } = await follow(world, topic);
  expect(table.size).toBe(0);
  await write(world, topic, 'site', 'first');
  await until('the first value', () => table.get('site') === 'first');
  const writtenMs = performance.now();
  await write(world, topic, 'site', 'second');
  await until('the second value', () => table.get('site') === 'second');
  expect(performance.now() - writtenMs).toBeLessThan(2_000);
  await write(world, topic, 'site', null);
  await until('the tombstone', () => !table.has('site'));
});

test('a topic that ends with a transaction marker is read to its end', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const topic = await createTopic(world.kafka, 'follow', 1, COMPACT);
  const producer = world.kafka.producer({
    transactionalId: uniqueName('follow'),
    maxInFlightRequests: 1,
    createPartitioner: chosenPartition,
  });
  await producer.connect();
  for (const end of ['commit', 'abort'] as const) {
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ partition: 0, key: end, value: end }] });
    await transaction[end]();
  }
  await producer.disconnect();
  expect([...(await follow(world, topic)).table]).toEqual([['commit', 'commit']]);
});

test('following goes on after the broker was killed and started again', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const topic = await createTopic(world.kafka, 'follow', 1, COMPACT);
  await write(world, topic, 'before', 'yes');
  const { table, following } = await follow(world, topic);
  world.broker.kill('SIGKILL');
  await until('the broker to be gone', () => world.broker.pid === undefined);
  await until('the table to be known to be behind', () => !following.isCurrent());
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  await world.broker.start();
  await write(world, topic, 'after', 'yes');
  const writtenMs = performance.now();
  await until('the value written after', () => table.get('after') === 'yes', 60_000);
  // Much less than the session of the member that crashed, for which an old group would wait.
  expect(performance.now() - writtenMs).toBeLessThan(10_000);
  await until('the table to be current again', () => following.isCurrent());
  expect(table.get('before')).toBe('yes');
});
