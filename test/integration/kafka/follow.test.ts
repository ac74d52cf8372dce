import { expect, test } from 'vitest';
import { explicitPartitioner } from '#infra/kafka/producers.ts';
import { createTopic, produce, uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { COMPACT, follow, write } from './follow_fixture.ts';
import { useKafka } from './stage_fixture.ts';

const TEST_MS = 90_000;
const kafka = useKafka();

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
  await write(world, topic, 'site', 'second');
  await until('the second value', () => table.get('site') === 'second');
  await write(world, topic, 'site', null);
  await until('the tombstone', () => !table.has('site'));
});

test('a topic that ends with a transaction marker is read to its end', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const topic = await createTopic(world.kafka, 'follow', 1, COMPACT);
  const producer = world.kafka.producer({
    transactionalId: uniqueName('follow'),
    maxInFlightRequests: 1,
    createPartitioner: explicitPartitioner,
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
