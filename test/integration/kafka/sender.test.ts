import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { WATCHDOG_MS } from '#infra/concurrency/watchdog.ts';
import { chosenPartition, PartitionUnchosenError } from '#infra/kafka/producer/chosen_partition.ts';
import { createSender, type PartitionSender, type SenderOptions } from '#infra/kafka/producer/sender.ts';
import { createTopic, kafkaOf, readCommitted, uniqueName } from '../support/kafka.ts';
import { until } from '../support/wait.ts';
import { type KafkaFixture, useKafka } from './stage_fixture.ts';

const TEST_MS = 60_000;
const PARTITIONS = 3;
const DEADLINE_MS = 3_000;
const STOPPING_MS = 1_000;
const kafka = useKafka();

async function open(
  world: KafkaFixture,
  changes: Partial<SenderOptions> = {},
): Promise<{ topic: string; sender: PartitionSender }> {
  const topic = await createTopic(world.kafka, 'sender', PARTITIONS);
  const sender = await createSender({
    kafka: kafkaOf(world.brokers, uniqueName('sender')),
    topic,
    requestBytesMax: 1024 * 1024,
    queuedBytesMax: 16 * 1024 * 1024,
    deadlineMs: DEADLINE_MS,
    nowMs: Date.now,
    watchdogMs: WATCHDOG_MS,
    isClusterAlive: () => true,
    onFatal(error) {
      throw error;
    },
    ...changes,
  });
  onTestFinished(() => sender.stop());
  return { topic, sender };
}

test('each partition holds its records in the order they were sent', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const { topic, sender } = await open(world, { requestBytesMax: 200 });
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
      expect(new Set(record.messages.map(({ partition }) => partition)).size).toBe(1);
      return send(record);
    };
    return producer;
  };
  const { sender } = await open(world, { kafka: client });
  const results = await Promise.all(
    Array.from({ length: 600 }, (_, index) => sender.send(index % 2, Buffer.from('x'))),
  );
  expect(results.every(({ ok }) => ok)).toBe(true);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(600);
  expect(sizes.length).toBeLessThanOrEqual(6);
});

test('a full queue refuses at once and takes again when it has room', { timeout: TEST_MS }, async () => {
  const { sender } = await open(kafka(), { queuedBytesMax: 1_000 });
  const first = sender.send(0, Buffer.alloc(900));
  expect(await sender.send(1, Buffer.alloc(200))).toEqual({ ok: false, code: 'queue_full' });
  expect(await first).toEqual({ ok: true });
  expect(await sender.send(1, Buffer.alloc(200))).toEqual({ ok: true });
});

test('a broker that stands still is told by the deadline, and sending goes on when it moves', {
  timeout: TEST_MS,
}, async () => {
  const world = kafka();
  const { topic, sender } = await open(world);
  expect(await sender.send(0, Buffer.from('before'))).toEqual({ ok: true });
  world.broker.kill('SIGSTOP');
  // It stands still only once a certain thread of it has run, which on busy cores takes a moment.
  await sleep(STOPPING_MS);
  const sentMs = performance.now();
  const results = await Promise.all([sender.send(0, Buffer.from('during')), sender.send(1, Buffer.from('during'))]);
  expect(results).toEqual([0, 1].map(() => ({ ok: false, code: 'not_acknowledged' })));
  expect(performance.now() - sentMs).toBeLessThan(DEADLINE_MS + 1_000);
  world.broker.kill('SIGCONT');
  const accepted: string[] = [];
  await until('an acknowledgement', async () => {
    const value = `after-${accepted.length}`;
    const { ok } = await sender.send(0, Buffer.from(value));
    if (ok) accepted.push(value);
    return ok;
  });
  const values = (await readCommitted(world.kafka, topic, PARTITIONS)).map(({ value }) => value);
  for (const value of ['before', ...accepted]) expect(values).toContain(value);
  await until('the queue to be empty', () => sender.queuedBytes() === 0);
});

test('a record without a partition is never sent', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const topic = await createTopic(world.kafka, 'sender', PARTITIONS);
  const producer = world.kafka.producer({ createPartitioner: chosenPartition });
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  await expect(producer.send({ topic, messages: [{ value: 'x' }] })).rejects.toThrow(PartitionUnchosenError);
  expect(await readCommitted(world.kafka, topic, PARTITIONS)).toEqual([]);
});
