import type { Producer, Transaction } from 'kafkajs';
import { expect, test } from 'vitest';
import type { Kafka } from '#infra/kafka/client.ts';
import type { TransactionalStageOptions } from '#infra/kafka/transactional_stage.ts';
import { differences, kafkaOf, numbered, produce, quiet, readCommitted, valuesOf } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { createLane, isDone, joinStage, type KafkaFixture, type Lane, passOn, useKafka } from './stage_fixture.ts';

const OUTPUTS = 3;
const TEST_MS = 60_000;
const kafka = useKafka();

type Send = Transaction['sendBatch'];
type Turn = PromiseWithResolvers<void>;

/** A client whose transactions are counted, those that only take an id left out, and send as they are told to. */
function watched(world: KafkaFixture, sendBatch: (send: Send, nth: number) => Send = (send) => send) {
  const client: Kafka = kafkaOf(world.brokers, 'watched');
  const facts = { sent: 0 };
  const make = client.producer.bind(client);
  client.producer = (config): Producer => {
    const producer = make(config);
    const begin = producer.transaction.bind(producer);
    producer.transaction = async () => {
      const transaction = await begin();
      const send = transaction.sendBatch.bind(transaction);
      transaction.sendBatch = (batch) => sendBatch(send, ++facts.sent)(batch);
      return transaction;
    };
    return producer;
  };
  return { client, facts };
}

async function laneWith(world: KafkaFixture, partitions: number, records: number) {
  const retryTopic = await createLane(world, partitions, OUTPUTS);
  const texts = numbered('t', records, partitions);
  return { retryTopic, texts };
}

async function expectOnce(world: KafkaFixture, retryTopic: Lane, texts: Parameters<typeof valuesOf>[0]): Promise<void> {
  await until('the group to be done', () => isDone(world, retryTopic));
  const found = await readCommitted(world.kafka, retryTopic.output, OUTPUTS);
  expect(differences(found, valuesOf(texts))).toEqual([]);
}

const again = (what: string): Error => Object.assign(new Error(what), { recovery: 'again' });

test('what the partitions of a group transform side by side goes in one transaction', {
  timeout: TEST_MS,
}, async () => {
  const world = kafka();
  const { retryTopic, texts } = await laneWith(world, 4, 40);
  const pass = passOn(retryTopic.output, OUTPUTS);
  const { client, facts } = watched(world);
  const seen = new Set<number>();
  const all = Promise.withResolvers<void>();
  await produce(world.kafka, retryTopic.input, texts);
  const transform: TransactionalStageOptions['transform'] = async (batch) => {
    seen.add(batch.partition);
    if (seen.size === 4) all.resolve();
    await all.promise;
    return pass(batch);
  };
  await joinStage(world, retryTopic, transform, { kafka: client, partitionGroupSize: 4 });
  await expectOnce(world, retryTopic, texts);
  expect(facts.sent).toBe(1);
});

test('a batch that fails beside another is taken again by itself', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const { retryTopic, texts } = await laneWith(world, 2, 20);
  const pass = passOn(retryTopic.output, OUTPUTS);
  const batches: number[] = [];
  const beside: string[] = [];
  const failures: string[] = [];
  const logger = Object.assign(Object.create(quiet) as typeof quiet, {
    warn: ({ partition, err }: { partition: number; err: Error }) => failures.push(`${partition} ${err.message}`),
  });
  await produce(world.kafka, retryTopic.input, texts);
  await joinStage(
    world,
    retryTopic,
    async (batch) => {
      batches.push(batch.partition);
      if (batch.partition === 0) beside.push(...batch.records.map(({ value }) => String(value)));
      if (batch.partition === 1 && batches.filter((partition) => partition === 1).length === 1) throw again('once');
      return pass(batch);
    },
    { partitionGroupSize: 2, logger },
  );
  await expectOnce(world, retryTopic, texts);
  expect(failures).toContain('1 once');
  // Records may come in several batches: of those beside the one that failed none is taken again, unless the broker itself
  // failed their transaction.
  const [twice, own] = [beside.length - new Set(beside).size, failures.filter((failure) => failure.startsWith('0 '))];
  expect(own).not.toContain('0 once');
  if (own.length === 0) expect(twice).toBe(0);
  expect(batches.filter((partition) => partition === 1).length).toBeGreaterThanOrEqual(2);
});

test('of a transaction that fails each partition is taken again', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const { retryTopic, texts } = await laneWith(world, 2, 20);
  const { client, facts } = watched(world, (send, nth) =>
    nth > 1
      ? send
      : async (batch) => {
          await send(batch);
          throw again('sent, and failed');
        },
  );
  await produce(world.kafka, retryTopic.input, texts);
  await joinStage(world, retryTopic, passOn(retryTopic.output, OUTPUTS), { kafka: client, partitionGroupSize: 2 });
  await expectOnce(world, retryTopic, texts);
  expect(facts.sent).toBeGreaterThan(1);
});

test('what was read before the id was taken anew is not committed', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const { retryTopic, texts } = await laneWith(world, 2, 40);
  const pass = passOn(retryTopic.output, OUTPUTS);
  const [sending, begun, anew] = [0, 1, 2].map(() => Promise.withResolvers<void>()) as [Turn, Turn, Turn];
  const batches: number[] = [];
  let fails = false;
  const { client } = watched(world, (send) => async (batch) => {
    if (!fails) return send(batch);
    fails = false;
    sending.resolve();
    await begun.promise;
    throw again('not sent');
  });
  const transform: TransactionalStageOptions['transform'] = async (batch) => {
    batches.push(batch.partition);
    const times = batches.filter((partition) => partition === batch.partition).length;
    if (batch.partition === 0 && times === 2) anew.resolve();
    if (batch.partition === 1 && times === 1) {
      begun.resolve();
      await anew.promise;
    }
    return pass(batch);
  };
  const produceTo = (some: typeof texts, to: number) =>
    produce(
      world.kafka,
      retryTopic.input,
      some.filter(({ partition }) => partition === to),
    );
  await produce(world.kafka, retryTopic.input, texts.slice(0, 20));
  let run = pass;
  await joinStage(world, retryTopic, (batch) => run(batch), { kafka: client, partitionGroupSize: 2 });
  await expectOnce(world, retryTopic, texts.slice(0, 20));
  run = transform;
  fails = true;
  await produceTo(texts.slice(20), 0);
  await sending.promise;
  await produceTo(texts.slice(20), 1);
  await expectOnce(world, retryTopic, texts);
  expect(batches.toSorted((one, other) => one - other)).toEqual([0, 0, 1, 1]);
});

test('members are given whole partition groups', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const { retryTopic } = await laneWith(world, 6, 0);
  const pass = passOn(retryTopic.output, OUTPUTS);
  const one = await joinStage(world, retryTopic, pass, { partitionGroupSize: 2 });
  const other = await joinStage(world, retryTopic, pass, { partitionGroupSize: 2 });
  const groups = () => [one, other].map((member) => member.assigned().map(({ partition }) => partition >> 1));
  await until('both to have some', async () => groups().every((of) => of.length > 0 && of.length < 6));
  expect(
    groups()
      .map((of) => [...new Set(of)].length * 2 === of.length)
      .concat(groups().flat().length === 6),
  ).toEqual([true, true, true]);
});
