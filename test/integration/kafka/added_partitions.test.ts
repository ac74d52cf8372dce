import { expect, onTestFinished, test } from 'vitest';
import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import { createKeyedProducer, openFencedProducer } from '#infra/kafka/producers.ts';
import { growTopics, provisionTopics } from '#infra/kafka/provision.ts';
import { EVENT_TOPICS, TOPICS } from '#infra/kafka/topics.ts';
import {
  createTopic,
  differences,
  kafkaOf,
  numbered,
  produce,
  readCommitted,
  uniqueName,
  valuesOf,
} from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { openSender, PARTITIONS } from './sender_fixture.ts';
import { createLane, isDone, joinStage, passOn, useKafka } from './stage_fixture.ts';

const kafka = useKafka();
/** Enough to renew metadata. */
const RETRIES = 3;
const RECORD = Buffer.from('event');

async function grow(topic: string, count: number): Promise<void> {
  await kafka().admin.createPartitions({ topicPartitions: [{ topic, count }] });
}

test('a record for a partition that the topic lacks is not acknowledged, and one beside it is', async () => {
  const { sender } = await openSender(kafka());
  expect(await sender.send(PARTITIONS, RECORD)).toEqual({ ok: false, code: 'not_acknowledged' });
  expect(await sender.send(0, RECORD)).toEqual({ ok: true });
});

test('a record for a partition that was added after the client had its metadata is there when it is acknowledged', async () => {
  const { topic, sender } = await openSender(kafka());
  expect(await sender.send(0, Buffer.from('before'))).toEqual({ ok: true });
  await grow(topic, PARTITIONS + 1);
  expect(await sender.send(PARTITIONS, Buffer.from('after'))).toEqual({ ok: true });
  const found = await readCommitted(kafka().kafka, topic, PARTITIONS + 1);
  expect(new Set(found.map(({ partition, value }) => `${partition} ${value}`))).toEqual(
    new Set(['0 before', `${PARTITIONS} after`]),
  );
});

test('a producer of keyed records and one with transactions throw for a partition that the topic lacks', async () => {
  const { brokers, kafka: client } = kafka();
  const topic = await createTopic(client, 'lacking', 1);
  const keyed = await createKeyedProducer(kafkaOf(brokers, uniqueName('keyed'), RETRIES));
  onTestFinished(() => keyed.stop());
  const unknown = { type: 'UNKNOWN_TOPIC_OR_PARTITION' };
  const record = { topic, partition: 1, value: RECORD };
  await expect(keyed.send([record])).rejects.toMatchObject({ cause: unknown });
  const fenced = await openFencedProducer(kafkaOf(brokers, uniqueName('fenced'), RETRIES), uniqueName('id'));
  onTestFinished(() => fenced.close());
  await expect(fenced.append(topic, 1, [{ key: 'k', value: RECORD }])).rejects.toMatchObject({ cause: unknown });
  expect(await readCommitted(client, topic, 1)).toEqual([]);
});

test('a stage commits no offset before what it writes to a partition that its output lacks can be written', async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 1, 1);
  const texts = numbered('grown', 10, 1);
  await produce(world.kafka, retryTopic.input, texts);
  let tries = 0;
  const pass = passOn(retryTopic.output, 2);
  await joinStage(world, retryTopic, async (batch) => {
    tries++;
    return pass(batch);
  });
  await until('a second try', () => tries > 1);
  expect(await isDone(world, retryTopic)).toBe(false);
  expect(await readCommitted(world.kafka, retryTopic.output, 1)).toEqual([]);
  await grow(retryTopic.output, 2);
  await until('the group to be done', () => isDone(world, retryTopic));
  const found = await readCommitted(world.kafka, retryTopic.output, 2);
  expect(differences(found, valuesOf(texts))).toEqual([]);
});

test('a stage reads partitions that are added to its input', async () => {
  const world = kafka();
  const retryTopic = await createLane(world, 1, 1);
  await joinStage(world, retryTopic, passOn(retryTopic.output, 1));
  const before = numbered('before', 3, 1);
  await produce(world.kafka, retryTopic.input, before);
  await until('the group to be done', () => isDone(world, retryTopic));
  await grow(retryTopic.input, 2);
  const after = numbered('after', 4, 2);
  await produce(kafkaOf(world.brokers, uniqueName('fresh')), retryTopic.input, after);
  await until('the group to be done with both', () => isDone(world, retryTopic));
  const found = await readCommitted(world.kafka, retryTopic.output, 1);
  expect(differences(found, valuesOf([...before, ...after]))).toEqual([]);
});

test('topics of events grow from the end of the flow on, and stages have the new partitions when it is said', async () => {
  const { brokers } = kafka();
  const prefix = `${uniqueName('grown')}.`;
  const open = () => kafkaOf(brokers, uniqueName('one'), undefined, prefix);
  const said: string[] = [];
  const growAll = (count: number) =>
    growTopics({ kafka: open(), prefix: 'svc', count, say: (line) => said.push(line), nowMs: monotonicMs });
  await expect(growAll(3)).rejects.toMatchObject({ code: 'topics_missing' });
  const lane = { groupId: 'svc.stage', input: TOPICS.raw, output: TOPICS.unique, offsets: 'offsets' };
  const declared = [...EVENT_TOPICS, lane.offsets].map((name) => ({ name, partitions: 1, config: {}, schema: null }));
  await provisionTopics(open(), declared, 1);
  const admin = open().admin();
  await admin.connect();
  onTestFinished(() => admin.disconnect());
  const world = { kafka: open(), admin, brokers };
  const members = [
    await joinStage(world, lane, passOn(lane.output, 1), { kafka: open() }),
    await joinStage(world, lane, passOn(lane.output, 1), { kafka: open() }),
  ];
  const had = (): number[] => members.flatMap((member) => member.assigned().map(({ partition }) => partition));
  await until('one partition to be had', had, ({ length }) => length === 1);
  expect(await growAll(3)).toEqual({ grown: EVENT_TOPICS.toReversed() });
  expect(had().toSorted((one, other) => one - other)).toEqual([0, 1, 2]);
  expect(said.at(-1)).toContain('have taken them');
  expect(await growAll(3)).toEqual({ grown: [] });
  await expect(growAll(2)).rejects.toMatchObject({ code: 'partitions_fewer' });
});
