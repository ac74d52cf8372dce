import type { Producer } from 'kafkajs';
import { expect, test } from 'vitest';
import type { Kafka } from '#infra/kafka/client.ts';
import type { TransactionalStageOptions } from '#infra/kafka/transactional_stage.ts';
import { kafkaOf, produce, quiet, readCommitted } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { createLane, isDone, joinStage, type KafkaFixture, useKafka } from './stage_fixture.ts';

const TEST_MS = 60_000;
/** Longer than a test. */
const NEVER_MS = 120_000;
const SOON_MS = 300;
const kafka = useKafka();

/** A client whose committed transactions are counted, and whose sends fail as they are told to. */
function watched({ brokers }: KafkaFixture, fails: (nth: number) => boolean = () => false) {
  const client: Kafka = kafkaOf(brokers, 'watched');
  const facts = { committed: 0, sent: 0 };
  const make = client.producer.bind(client);
  client.producer = (config): Producer => {
    const producer = make(config);
    const begin = producer.transaction.bind(producer);
    producer.transaction = async () => {
      const transaction = await begin();
      const [send, commit] = [transaction.sendBatch.bind(transaction), transaction.commit.bind(transaction)];
      transaction.sendBatch = (batch) => {
        if (fails(++facts.sent)) throw Object.assign(new Error('send failed'), { recovery: 'again' });
        return send(batch);
      };
      transaction.commit = async () => {
        await commit();
        facts.committed++;
      };
      return transaction;
    };
    return producer;
  };
  return { client, facts };
}

/** Passes on what begins with "out", and nothing else; `taken` and `counted` are what was seen, and what was told committed. */
function passSome(output: string) {
  const [taken, counted]: [string[], string[]] = [[], []];
  const transform: TransactionalStageOptions['transform'] = async ({ records }) => {
    const texts = records.map(({ value }) => String(value));
    taken.push(...texts);
    const outputs = texts.filter((text) => text.startsWith('out'));
    return {
      outputs: outputs.map((text) => ({ topic: output, partition: 0, value: Buffer.from(text) })),
      committed: () => counted.push(...texts),
    };
  };
  return { transform, taken, counted };
}

/** Puts texts on partitions in turn, one after the other, each when the one before was taken. */
async function produceApart({ kafka: client }: KafkaFixture, topic: string, texts: readonly string[], taken: string[]) {
  for (const [at, text] of texts.entries()) {
    const partition = at % 2;
    await produce(client, topic, [{ partition, value: text }]);
    await until(`${text} to be taken`, () => taken.includes(text));
  }
}

test('batches of which nothing is written go with the next transaction, and count once it has committed', {
  timeout: TEST_MS,
}, async () => {
  const world = kafka();
  const lane = await createLane(world, 2, 1);
  const { client, facts } = watched(world);
  const { transform, taken, counted } = passSome(lane.output);
  await joinStage(world, lane, transform, { kafka: client, partitionGroupSize: 2, emptyMs: NEVER_MS });
  await produceApart(world, lane.input, ['a1', 'b1', 'a2', 'b2'], taken);
  expect([facts.committed, counted]).toEqual([0, []]);
  expect(await isDone(world, lane)).toBe(false);
  await produceApart(world, lane.input, ['out'], taken);
  await until('the group to be done', () => isDone(world, lane));
  expect(facts.committed).toBe(1);
  expect(counted.toSorted()).toEqual(['a1', 'a2', 'b1', 'b2', 'out']);
  expect(taken).toHaveLength(5);
});

test('where nothing is written after them their offsets are committed by themselves', {
  timeout: TEST_MS,
}, async () => {
  const world = kafka();
  const lane = await createLane(world, 2, 1);
  const { client, facts } = watched(world);
  const { transform, taken, counted } = passSome(lane.output);
  await joinStage(world, lane, transform, { kafka: client, partitionGroupSize: 2, emptyMs: SOON_MS });
  const texts = ['a0', 'b0', 'a1', 'b1', 'a2', 'b2', 'a3', 'b3'];
  await produceApart(world, lane.input, texts, taken);
  await until('the group to be done', () => isDone(world, lane));
  expect(counted.toSorted()).toEqual(texts.toSorted());
  expect(taken).toHaveLength(texts.length);
  expect(facts.committed).toBeLessThanOrEqual(texts.length);
});

test('a batch that takes longer than the wait takes along what waits, and its partition is not lost', {
  timeout: TEST_MS,
}, async () => {
  const world = kafka();
  const lane = await createLane(world, 2, 1);
  const { transform, taken, counted } = passSome(lane.output);
  const warned: unknown[] = [];
  const logger = Object.assign(Object.create(quiet) as typeof quiet, {
    warn: (...said: unknown[]) => warned.push(said),
  });
  const slow: TransactionalStageOptions['transform'] = async (batch) => {
    const result = await transform(batch);
    // By then what waits of this partition, and began to before, has waited for long enough.
    if (result.outputs.length > 0) await until('what waits of the other one', () => counted.includes('b'));
    return result;
  };
  await joinStage(world, lane, slow, { emptyMs: SOON_MS, logger });
  await produceApart(world, lane.input, ['a', 'b', 'out', 'c', 'out2'], taken);
  await until('the group to be done', () => isDone(world, lane));
  expect(warned).toEqual([]);
  expect(taken).toEqual(['a', 'b', 'out', 'c', 'out2']);
  expect(counted.toSorted()).toEqual(['a', 'b', 'c', 'out', 'out2']);
});

test('what waited for a transaction that failed comes again, of each partition, and counts once', {
  timeout: TEST_MS,
}, async () => {
  const world = kafka();
  const lane = await createLane(world, 2, 1);
  const { client, facts } = watched(world, (nth) => nth === 1);
  const { transform, taken, counted } = passSome(lane.output);
  await joinStage(world, lane, transform, { kafka: client, partitionGroupSize: 2, emptyMs: NEVER_MS });
  // What waits of the second partition comes again without a batch behind it.
  await produceApart(world, lane.input, ['a1', 'b1', 'out'], taken);
  await until('b1 to come again', () => taken.filter((text) => text === 'b1').length === 2);
  await produceApart(world, lane.input, ['out2'], taken);
  await until('the group to be done', () => isDone(world, lane));
  expect(facts.sent).toBeGreaterThan(1);
  expect(counted.toSorted()).toEqual(['a1', 'b1', 'out', 'out2']);
  expect(await readCommitted(world.kafka, lane.output, 1)).toHaveLength(2);
});

test('what waits as a process ends is the next one’s', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const lane = await createLane(world, 2, 1);
  const first = passSome(lane.output);
  const consumption = await joinStage(world, lane, first.transform, { partitionGroupSize: 2, emptyMs: NEVER_MS });
  await produceApart(world, lane.input, ['a1', 'b1'], first.taken);
  await consumption.stop();
  const second = passSome(lane.output);
  await joinStage(world, lane, second.transform, { partitionGroupSize: 2, emptyMs: SOON_MS });
  await until('what waited', () => second.counted.length === 2);
  expect([first.counted, second.counted.toSorted()]).toEqual([[], ['a1', 'b1']]);
});
