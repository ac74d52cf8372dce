import { expect, test } from 'vitest';
import { readRanges } from '#infra/kafka/read_ranges.ts';
import { createTopic, kafkaOf, numbered, produce, uniqueName } from '../support/kafka.ts';
import { useParts } from '../support/parts.ts';

const parts = useParts('kafka');

test('of ranges that were deleted, wholly or in part, what is still there is read', async () => {
  const kafka = kafkaOf(parts().addresses.kafkaBrokers);
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
