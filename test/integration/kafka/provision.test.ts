import { expect, test } from 'vitest';
import { explicitPartitioner } from '#infra/kafka/producers.ts';
import { partitionsOf, provisionTopics } from '#infra/kafka/provision.ts';
import { readBack } from '#infra/kafka/read_topic.ts';
import type { TopicDeclaration } from '#infra/kafka/topics.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { useKafka } from './stage_fixture.ts';

const kafka = useKafka();
const DAY_MS = 86_400_000;

function declaration(changes: Partial<TopicDeclaration> = {}): TopicDeclaration {
  const config = { 'cleanup.policy': 'delete', 'retention.ms': String(9 * DAY_MS) };
  return { name: uniqueName('provision'), partitions: 3, config, schema: 'event_batch', ...changes };
}

test('missing topics are made as declared, and nothing is done the second time', async () => {
  const declared = [declaration(), declaration({ config: { 'cleanup.policy': 'compact' } })];
  const names = declared.map(({ name }) => name);
  const world = kafka();
  expect(await provisionTopics(world.kafka, declared, 1)).toEqual({ created: names, altered: [], mismatches: [] });
  const { topics } = await world.admin.fetchTopicMetadata({ topics: names });
  expect(topics.map(({ partitions }) => partitions.length)).toEqual([3, 3]);
  expect(await partitionsOf(world.kafka, names[0] ?? '')).toBe(3);
  expect(await partitionsOf(world.kafka, uniqueName('not-there'))).toBeNull();
  expect(await provisionTopics(world.kafka, declared, 1)).toEqual({ created: [], altered: [], mismatches: [] });
});

test('other partitions and another retention are told and left alone', async () => {
  const first = declaration();
  const other = {
    ...first,
    partitions: 6,
    config: { ...first.config, 'retention.ms': String(2 * DAY_MS) },
  };
  const world = kafka();
  await provisionTopics(world.kafka, [first], 1);
  const expected = [
    { topic: first.name, setting: 'partitions', declared: '6', found: '3' },
    { topic: first.name, setting: 'retention.ms', declared: String(2 * DAY_MS), found: String(9 * DAY_MS) },
  ];
  expect((await provisionTopics(world.kafka, [other], 1)).mismatches).toEqual(expected);
  expect((await provisionTopics(world.kafka, [first], 1)).mismatches).toEqual([]);
});

test('records of a host 9 days ahead or behind are stamped by the broker, in a topic of before as well', async () => {
  const before = declaration();
  const declared = { ...before, config: { ...before.config, 'message.timestamp.type': 'LogAppendTime' } };
  const world = kafka();
  await provisionTopics(world.kafka, [before], 1);
  const told = await provisionTopics(world.kafka, [declared], 1);
  expect(told).toEqual({ created: [], altered: [before.name], mismatches: [] });
  // The broker tells a setting only a little after it was changed.
  const provisioned = (): ReturnType<typeof provisionTopics> => provisionTopics(world.kafka, [declared], 1);
  await until('nothing to alter', provisioned, ({ altered, mismatches }) => altered.length + mismatches.length === 0);
  const startedMs = Date.now();
  const producer = world.kafka.producer({ createPartitioner: explicitPartitioner });
  await producer.connect();
  const hosts = [startedMs + 9 * DAY_MS, startedMs - 9 * DAY_MS];
  for (const hostMs of hosts) {
    const messages = [{ partition: 0, value: 'x', timestamp: String(hostMs) }];
    await producer.send({ topic: before.name, acks: -1, messages });
  }
  await producer.disconnect();
  const stamped: number[] = [];
  await readBack({
    kafka: world.kafka,
    admin: world.admin,
    topic: before.name,
    groupPrefix: 'test',
    onProgress: () => undefined,
    sinceMs: startedMs,
    async onRecords(records) {
      stamped.push(...records.map(({ timestampMs }) => timestampMs));
    },
  });
  expect(stamped).toHaveLength(2);
  expect(stamped.filter((atMs) => hosts.includes(atMs))).toEqual([]);
});

test('fewer copies before an acknowledgement than are asked for are told', async () => {
  const declared = declaration();
  const world = kafka();
  await provisionTopics(world.kafka, [declared], 1);
  const expected = [{ topic: declared.name, setting: 'min.insync.replicas', declared: '2', found: '1' }];
  expect((await provisionTopics(world.kafka, [declared], 3)).mismatches).toEqual(expected);
});

test('brokers that forget offsets before records are told', async () => {
  const world = kafka();
  const { brokers } = await world.admin.describeCluster();
  const entry = { configName: 'offsets.retention.minutes', configValue: '10080' };
  const resources = brokers.map(({ nodeId }) => ({ resourceName: String(nodeId), configEntries: [entry] }));
  const admin = { ...world.admin, disconnect: async () => undefined, describeConfigs: async () => ({ resources }) };
  const client = Object.assign(Object.create(world.kafka), { admin: () => admin });
  const facts = { setting: 'offsets.retention.minutes', declared: '23040 or more', found: '10080' };
  expect((await provisionTopics(client, [], 1)).mismatches).toEqual(
    brokers.map(({ nodeId }) => ({ topic: `__consumer_offsets (broker ${nodeId})`, ...facts })),
  );
  expect((await provisionTopics(world.kafka, [], 1)).mismatches).toEqual([]);
});
