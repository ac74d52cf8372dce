import { randomBytes } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { openFencedProducer } from '#infra/kafka/producers.ts';
import { readPartitions, readRanges } from '#infra/kafka/read_topic.ts';
import { readRange } from '#services/redelivery/replay_source.ts';
import { createTopic, kafkaOf, numbered, produce, quiet, SESSION_TIMEOUT_MS, uniqueName } from '#test/harness/kafka.ts';
import type {} from '#test/harness/shared_parts.ts';
import { until } from '#test/harness/until.ts';

test('of ranges that were deleted, wholly or in part, what is still there is read', async () => {
  const kafka = kafkaOf(inject('parts').addresses.kafkaBrokers);
  const topic = await createTopic(kafka, 'ranges', 3);
  await produce(kafka, topic, numbered('record', 9, 3));
  const admin = kafka.admin();
  await admin.connect();
  // The client deletes nothing of a topic whose leaders it has not asked for yet.
  await admin.fetchTopicOffsets(topic);
  const deleted = [
    { partition: 0, offset: '3' },
    { partition: 1, offset: '2' },
  ];
  await admin.deleteTopicRecords({ topic, partitions: deleted });
  const ranges = new Map([0, 1, 2].map((partition) => [partition, { first: 0, last: 2 }]));
  const found = await readRanges({ kafka, admin, topic, groupPrefix: uniqueName('group'), ranges });
  await admin.disconnect();
  const values = [...found].map(([partition, records]) => [partition, records.map(({ value }) => value?.toString())]);
  expect(values).toEqual([
    [0, []],
    [1, ['record-7']],
    [2, ['record-2', 'record-5', 'record-8']],
  ]);
});

test('what is deleted while it is read is not waited for', async () => {
  const kafka = kafkaOf(inject('parts').addresses.kafkaBrokers);
  const topic = await createTopic(kafka, 'ranges', 1);
  // Of which one fetch brings two at the most.
  const value = randomBytes(600_000).toString('base64').slice(0, 600_000);
  for (let count = 0; count < 4; count++) await produce(kafka, topic, [{ partition: 0, value }]);
  const admin = kafka.admin();
  await admin.connect();
  await admin.fetchTopicOffsets(topic);
  const offsets: number[] = [];
  const progress: number[] = [];
  await readPartitions({
    kafka,
    topic,
    groupPrefix: uniqueName('group'),
    spans: new Map([[0, { first: 0, end: 4 }]]),
    async onRecords(records) {
      offsets.push(...records.map(({ offset }) => offset));
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '4' }] });
    },
    onProgress: (done) => progress.push(done),
  });
  await admin.disconnect();
  expect(offsets.length).toBeLessThan(4);
  expect(progress.at(-1)).toBe(4);
});

test('a replay comes to the end of ranges that end in transaction markers, hold nothing else, or are deleted', async () => {
  const kafka = kafkaOf(inject('parts').addresses.kafkaBrokers);
  const topic = await createTopic(kafka, 'ranges', 4);
  const producer = await openFencedProducer(kafka, uniqueName('tx'));
  const value = Buffer.from('one');
  await producer.appendAll([0, 1, 2, 3].map((partition) => [topic, partition, [{ key: 'k', value }]]));
  await producer.close();
  const admin = kafka.admin();
  await admin.connect();
  // The markers are written after the commit is answered.
  const areEnded = async () => (await admin.fetchTopicOffsets(topic)).every(({ high }) => high === '2');
  await until('the markers to be there', areEnded);
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 2, offset: '2' }] });
  const config = { sessionTimeoutMs: SESSION_TIMEOUT_MS, eventPartitions: 4 } as KafkaSession['config'];
  const session = { kafka, admin, config, groupOf: uniqueName } as unknown as KafkaSession;
  const ranges = [
    { partition: 0, first: 0, end: 2 },
    { partition: 1, first: 1, end: 2 },
    { partition: 2, first: 0, end: 2 },
  ].map((range) => ({ ...range, next: range.first }));
  const taken: [number, number[]][] = [];
  const whole = await readRange(
    { session, logger: quiet, nowMs: Date.now },
    {
      replayId: 'r',
      topic,
      partitions: () => ranges,
      fromFirst: false,
      recordsMax: 10,
      aheadMax: 10,
      async take({ partition, records }) {
        taken.push([partition, records.map(({ offset }) => offset)]);
        return null;
      },
      stopped: () => false,
    },
  );
  await admin.disconnect();
  expect({ whole, taken }).toEqual({ whole: true, taken: [[0, [0]]] });
});
