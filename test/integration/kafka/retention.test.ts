import { expect, test } from 'vitest';
import type { Kafka } from '#infra/kafka/client.ts';
import { explicitPartitioner, openFencedProducer } from '#infra/kafka/producers.ts';
import type { TransactionalStageOptions } from '#infra/kafka/transactional_stage.ts';
import { kafkaOf, uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { createLane, isDone, joinStage, type KafkaFixture, type Lane, passOn, useKafka } from './stage_fixture.ts';

const TEST_MS = 60_000;
const kafka = useKafka();

/** A lane with one partition whose records are written in transactions, as every topic behind the first one is. */
async function openLane(world: KafkaFixture) {
  const retryTopic = await createLane(world, 1, 1);
  const id = uniqueName('tx');
  return {
    retryTopic,
    async put(text: string) {
      const producer = await openFencedProducer(world.kafka, id);
      await producer.append(retryTopic.input, 0, [{ key: 'k', value: Buffer.from(text) }]);
      await producer.close();
    },
    /** A transaction that its producer did not live to end leaves this. */
    async putAborted() {
      const producer = world.kafka.producer({
        transactionalId: uniqueName('tx'),
        maxInFlightRequests: 1,
        createPartitioner: explicitPartitioner,
      });
      await producer.connect();
      const transaction = await producer.transaction();
      await transaction.send({ topic: retryTopic.input, messages: [{ partition: 0, value: 'aborted' }] });
      await transaction.abort();
      await producer.disconnect();
    },
  };
}

/**
 * What retention does to a partition that nobody has written to for long enough: its log begins at its end, here behind
 * the given number of transactions of one record each. Their markers are written after the commit is answered.
 */
async function deleteAll({ admin }: KafkaFixture, { input }: Lane, transactions: number): Promise<void> {
  const offset = String(2 * transactions);
  const isEnded = async () => (await admin.fetchTopicOffsets(input))[0]?.high === offset;
  await until('the markers to be there', isEnded);
  await admin.deleteTopicRecords({ topic: input, partitions: [{ partition: 0, offset }] });
}

async function committedOf({ admin }: KafkaFixture, { groupId, input }: Lane): Promise<number> {
  const [topic] = await admin.fetchOffsets({ groupId, topics: [input] });
  return Number(topic?.partitions[0]?.offset);
}

/** A transactional stage that passes records on while `fails` does not say otherwise, what it passed, and what it was told to be skipped. */
function passer(retryTopic: Lane, fails: (text: string) => boolean) {
  const passed: string[] = [];
  const skipped: number[] = [];
  const pass = passOn(retryTopic.output, 1);
  const transform: TransactionalStageOptions['transform'] = async (batch) => {
    const texts = batch.records.map(({ value }) => String(value));
    if (texts.some(fails)) throw Object.assign(new Error('for now'), { recovery: 'wait' });
    return { ...(await pass(batch)), committed: () => passed.push(...texts) };
  };
  return { passed, skipped, transform, onSkipped: (_topic: string, offsets: number) => skipped.push(offsets) };
}

test('a committed offset lies behind the marker that ends a transaction', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const { retryTopic, put } = await openLane(world);
  const { passed, transform, ...given } = passer(retryTopic, () => false);
  await joinStage(world, retryTopic, transform, given);
  await put('one-0');
  await until('the record to be passed on', () => passed.length === 1);
  await until('the end to be committed', () => isDone(world, retryTopic));
});

test('records that are deleted while they fail are skipped and counted', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const { retryTopic, put } = await openLane(world);
  let tries = 0;
  const { passed, skipped, transform, ...given } = passer(retryTopic, (text) => text === 'lost-0' && ++tries > 0);
  await joinStage(world, retryTopic, transform, given);
  await put('one-0');
  await until('the first to be passed on', () => passed.length === 1);
  await put('lost-0');
  await until('the second to have failed', () => tries > 1);
  await deleteAll(world, retryTopic, 2);
  await put('two-0');
  await until('what comes to be passed on', () => passed.includes('two-0'));
  expect(passed).toEqual(['one-0', 'two-0']);
  // The record and the marker behind it, of which nobody can tell any more what they were.
  expect(skipped).toEqual([2]);
});

/** A client that says how often a fetch of its consumers brought no record, only transaction markers or aborted records. */
function counting(brokers: string): { client: Kafka; empties(): number } {
  let empties = 0;
  const client = kafkaOf(brokers, uniqueName('member'));
  const consumer: Kafka['consumer'] = (config) => {
    const made = client.consumer(config);
    made.on(made.events.START_BATCH_PROCESS, ({ payload }) => {
      if (payload.batchSize === 0) empties++;
    });
    return made;
  };
  return { client: Object.assign(Object.create(client) as Kafka, { consumer }), empties: () => empties };
}

test('where only markers were deleted, nothing is counted', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const { retryTopic, put, putAborted } = await openLane(world);
  const { client, empties } = counting(world.brokers);
  let fails = 0;
  const { passed, skipped, transform, ...given } = passer(retryTopic, (text) => text === 'two-0' && ++fails === 1);
  await joinStage(world, retryTopic, transform, { ...given, kafka: client });
  await put('one-0');
  await until('the first to be passed on', () => passed.length === 1);
  await putAborted();
  await until('the aborted one to be fetched', () => empties() > 0);
  await deleteAll(world, retryTopic, 2);
  await put('two-0');
  await until('what comes to be passed on', () => passed.includes('two-0'));
  expect({ passed, skipped, fails }).toEqual({ passed: ['one-0', 'two-0'], skipped: [], fails: 2 });
});

test('a member that comes after what it was to read was deleted goes on', { timeout: TEST_MS }, async () => {
  const world = kafka();
  const { retryTopic, put } = await openLane(world);
  const before = passer(retryTopic, () => false);
  const first = await joinStage(world, retryTopic, before.transform);
  await put('one-0');
  await until('the first to be passed on', () => before.passed.length === 1);
  await first.stop();
  await put('lost-0');
  await deleteAll(world, retryTopic, 2);
  const { passed, skipped, transform, ...given } = passer(retryTopic, () => false);
  await joinStage(world, retryTopic, transform, given);
  // Nothing is committed over the group's offset on the way.
  expect(await committedOf(world, retryTopic)).toBe(2);
  await put('two-0');
  await until('what comes to be passed on', () => passed.length === 1);
  expect({ passed, skipped }).toEqual({ passed: ['two-0'], skipped: [2] });
});
