import { expect, onTestFinished, test } from 'vitest';
import { explicitPartitioner, PartitionUnchosenError } from '#infra/kafka/producers.ts';
import { createTopic, kafkaOf, readCommitted, uniqueName } from '#test/harness/kafka.ts';
import { openSender, PARTITIONS } from './sender_fixture.ts';
import { useKafka } from './stage_fixture.ts';

const TEST_MS = 60_000;
const kafka = useKafka();

test('each partition holds its records in the order they were sent', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const { topic, sender } = await openSender(world, { requestBytesMax: 200 });
  const values = Array.from({ length: 900 }, (_, index) => `value-${index}`);
  const results = await Promise.all(values.map((value, index) => sender.send(index % PARTITIONS, Buffer.from(value))));
  expect(results.every(({ ok }) => ok)).toBe(true);
  const found = await readCommitted(world.kafka, topic, PARTITIONS);
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const there = found.filter((one) => one.partition === partition).map(({ value }) => value);
    expect(there).toEqual(values.filter((_, index) => index % PARTITIONS === partition));
  }
  expect(sender.queuedBytes()).toBe(0);
});

test('what waits while a request is open goes together', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const client = kafkaOf(world.brokers, uniqueName('sender'));
  const make = client.producer.bind(client);
  const sizes: number[] = [];
  client.producer = (config) => {
    const producer = make(config);
    const send = producer.send.bind(producer);
    producer.send = (record) => {
      sizes.push(record.messages.length);
      const spans = new Set(record.messages.map(({ partition }) => partition)).size > 1;
      if (spans) expect(config?.retry).toEqual({ retries: 0 });
      return send(record);
    };
    return producer;
  };
  const { sender } = await openSender(world, { kafka: client });
  const results = await Promise.all(
    Array.from({ length: 600 }, (_, index) => sender.send(index % 2, Buffer.from('x'))),
  );
  expect(results.every(({ ok }) => ok)).toBe(true);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(600);
  expect(sizes.length).toBeLessThanOrEqual(6);
});

test('a full queue refuses at once and takes again when it has room', { timeout: TEST_MS }, async () => {
  const { sender } = await openSender(kafka(), { queuedBytesMax: 1_000 });
  const first = sender.send(0, Buffer.alloc(900));
  expect(await sender.send(1, Buffer.alloc(200))).toEqual({ ok: false, code: 'queue_full' });
  expect(await first).toEqual({ ok: true });
  expect(await sender.send(1, Buffer.alloc(200))).toEqual({ ok: true });
});

test('a record without a partition is never sent', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const topic = await createTopic(world.kafka, 'sender', PARTITIONS);
  const producer = world.kafka.producer({ createPartitioner: explicitPartitioner });
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  await expect(producer.send({ topic, messages: [{ value: 'x' }] })).rejects.toThrow(PartitionUnchosenError);
  expect(await readCommitted(world.kafka, topic, PARTITIONS)).toEqual([]);
});
