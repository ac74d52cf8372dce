import { expect, onTestFinished, test } from 'vitest';
import { openOffsetLog } from '#infra/kafka/offset_log.ts';
import { openTopicIds } from '#infra/kafka/offsets.ts';
import { createTopic, produce, quiet, uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { useKafka } from './stage_fixture.ts';

const kafka = useKafka();

async function open(groupId: string, offsetsTopic: string) {
  const client = kafka().kafka;
  const ids = await openTopicIds(client);
  onTestFinished(() => ids.close());
  const log = await openOffsetLog({ kafka: client, groupId, offsetsTopic, logger: quiet }, ids);
  onTestFinished(() => log.close());
  return log;
}

/** A group's log of one partition, opened once, with what writes into it. */
async function createLog() {
  const world = kafka();
  const at = { topic: await createTopic(world.kafka, 'in', 1), partition: 0 };
  const offsetsTopic = await createTopic(world.kafka, 'offsets', 1);
  const groupId = uniqueName('group');
  const log = await open(groupId, offsetsTopic);
  await log.of(at);
  const { key } = log.recordOf(at, { offset: 0, metadata: '' });
  const write = (value: string | null): Promise<void> =>
    produce(world.kafka, offsetsTopic, [{ partition: 0, key: key ?? '', value: value as string }]);
  const note = (offset: number): Promise<void> => write(String(log.recordOf(at, { offset, metadata: '' }).value));
  const noted = async (of = log): Promise<number | null> => (await of.of(at))?.offset ?? null;
  return { ...world, at, offsetsTopic, write, note, noted, another: () => open(groupId, offsetsTopic) };
}

test('a log whose beginning was deleted is read from where it begins', async () => {
  const { admin, offsetsTopic, note, noted, another } = await createLog();
  for (const offset of [1, 2, 3]) await note(offset);
  // The client deletes nothing of a topic whose leaders it has not asked for yet.
  await admin.fetchTopicOffsets(offsetsTopic);
  await admin.deleteTopicRecords({ topic: offsetsTopic, partitions: [{ partition: 0, offset: '2' }] });
  expect(await noted(await another())).toBe(3);
});

test('a log that was made anew is read from its beginning, however long it is by now', async () => {
  const { admin, kafka: client, offsetsTopic, note, noted } = await createLog();
  for (const offset of [1, 2, 3]) await note(offset);
  expect(await noted()).toBe(3);
  await admin.deleteTopics({ topics: [offsetsTopic] });
  await until('no topic', async () => !(await admin.listTopics()).includes(offsetsTopic));
  await expect(noted()).rejects.toMatchObject({ code: 'offset_log_unavailable', recovery: 'again' });
  await admin.createTopics({ topics: [{ topic: offsetsTopic, numPartitions: 1 }], waitForLeaders: true });
  await until('a log without it', async () => (await noted()) === null);
  await note(11);
  const others = [1, 2, 3, 4].map((at) => ({ partition: 0, key: `other-${at}`, value: '{}' }));
  await produce(client, offsetsTopic, others);
  expect(await noted()).toBe(11);
});

test('a record that is none of ours, and a tombstone, say nothing', async () => {
  const { write, note, noted } = await createLog();
  for (const strange of ['garbage', 'null', '{}', '{"offset":"1","metadata":"","topic_id":""}', null]) {
    await note(1);
    expect(await noted()).toBe(1);
    await write(strange);
    expect(await noted()).toBeNull();
  }
});

test('a log that is not there is named', async () => {
  await expect(open('group', 'stage.missing')).rejects.toMatchObject({
    code: 'offset_log_unavailable',
    message: expect.stringMatching(/^the offset log stage\.missing cannot be read: ./),
  });
});
