import kafkajs from 'kafkajs';
import { expect, onTestFinished, test } from 'vitest';
import { followTopic } from '#infra/kafka/follow_topic.ts';
import { openOffsetLog } from '#infra/kafka/offset_log.ts';
import { openTopicIds } from '#infra/kafka/offsets.ts';
import { explicitPartitioner } from '#infra/kafka/producers.ts';
import { createTopic, quiet, uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { useOwnKafka } from '#test/integration/kafka/stage_fixture.ts';

const TEST_MS = 180_000;
const SEGMENT_BYTES = 1024 * 1024;
const own = useOwnKafka();

async function openProducer(topic: string, idempotent: boolean) {
  const producer = own().kafka.producer({
    ...{ idempotent, maxInFlightRequests: 1, createPartitioner: explicitPartitioner },
  });
  await producer.connect();
  const send = async (...some: { key: string; value: Buffer }[]): Promise<void> => {
    await producer.send({ topic, acks: -1, messages: some.map((one) => ({ partition: 0, ...one })) });
  };
  /** Ends a segment. */
  const fill = async (): Promise<void> => {
    const filler = { key: 'filler', value: Buffer.alloc(SEGMENT_BYTES / 4, 'x') };
    for (let at = 0; at < 4; at++) await send(filler);
  };
  return { send, fill, close: () => producer.disconnect() };
}

/** Has the broker compact soon; without it the tests would wait for up to 15 s. */
async function compactSoon(): Promise<void> {
  const configEntries = [{ name: 'log.cleaner.backoff.ms', value: '200' }];
  const broker = { type: kafkajs.ConfigResourceTypes.BROKER, name: '1', configEntries };
  await own().admin.alterConfigs({ validateOnly: false, resources: [broker] });
}

test.for([
  ['a batch that has lost its last record', false],
  ['an empty batch of a producer that is still known', true],
] as const)('what stands behind %s at the end of a segment is read', { timeout: TEST_MS }, async ([, isEmpty]) => {
  const { kafka } = own();
  await compactSoon();
  const topic = await createTopic(kafka, 'in', 3);
  const offsets = await createTopic(kafka, 'offsets', 1, {
    ...{ 'cleanup.policy': 'compact', 'segment.bytes': String(SEGMENT_BYTES), 'min.cleanable.dirty.ratio': '0.01' },
  });
  const groupId = uniqueName('group');
  const ids = await openTopicIds(kafka);
  const open = () => openOffsetLog({ kafka, groupId, offsetsTopic: offsets, logger: quiet }, ids);
  const log = await open();
  const partitions = [0, 1, 2];
  for (const partition of partitions) await log.of({ topic, partition });
  const recordOf = (partition: number, offset: number): { key: string; value: Buffer } => {
    const { key, value } = log.recordOf({ topic, partition }, { offset, metadata: '' });
    return { key: key ?? '', value };
  };
  const producer = await openProducer(offsets, false);
  await producer.send(recordOf(0, 10), recordOf(1, 10));
  if (isEmpty) {
    const earlier = await openProducer(offsets, true);
    await earlier.send(recordOf(2, 10));
    await earlier.close();
  }
  await producer.fill();
  await producer.send(recordOf(1, 20), recordOf(2, 20));
  await producer.fill();
  await producer.send(recordOf(1, 30));
  await producer.close();

  // Followed anew until the first filler is gone: then so is all that was written over.
  const follow = async (): Promise<string[]> => {
    const seen: string[] = [];
    const following = await followTopic({
      ...{ kafka, topic: offsets, groupPrefix: uniqueName('follower') },
      onRecord: (key, value) => void seen.push(key === 'filler' ? key : String(value)),
      onFatal: (error) => {
        throw error;
      },
    });
    await following.stop();
    return seen;
  };
  const values = (
    [
      [0, 10],
      [1, 20],
      [2, 20],
      [1, 30],
    ] as const
  ).map(([of, offset]) => String(recordOf(of, offset).value));
  const isCompacted = (seen: readonly string[]): boolean => seen.filter((one) => one === 'filler').length < 8;
  const seen = await until('the compaction', follow, isCompacted);
  expect(new Set(seen.filter((one) => one !== 'filler'))).toEqual(new Set(values));
  const reader = await open();
  const found = partitions.map(async (partition) => (await reader.of({ topic, partition }))?.offset);
  expect(await Promise.all(found)).toEqual([10, 30, 20]);
  onTestFinished(() => Promise.all([log, reader, ids].map((one) => one.close())).then(() => undefined));
});
