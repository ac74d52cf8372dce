import { expect, test } from 'vitest';
import { requestsByLeader } from '#infra/kafka/transactional_stage.ts';

const value = Buffer.from('v');
const record = (topic: string, partition: number) => ({ topic, partition, value });

test('what goes to one broker is one request, topic by topic, each record on its partition', () => {
  const records = [record('a', 0), record('a', 1), record('b', 0), { ...record('a', 2), key: 'k' }, record('a', 0)];
  const leaders: Record<string, number> = { 'a/0': 1, 'a/1': 2, 'a/2': 1, 'b/0': 1 };
  const requests = requestsByLeader(records, (topic, partition) => leaders[`${topic}/${partition}`]);
  expect(requests).toEqual([
    [
      {
        topic: 'a',
        messages: [
          { partition: 0, key: null, value },
          { partition: 2, key: 'k', value },
          { partition: 0, key: null, value },
        ],
      },
      { topic: 'b', messages: [{ partition: 0, key: null, value }] },
    ],
    [{ topic: 'a', messages: [{ partition: 1, key: null, value }] }],
  ]);
});

test('what has no known leader is sent by itself', () => {
  const requests = requestsByLeader([record('a', 0), record('a', 1)], (_, partition) =>
    partition === 0 ? 1 : undefined,
  );
  expect(requests.map((topics) => topics.map(({ messages }) => messages.map(({ partition }) => partition)))).toEqual([
    [[0]],
    [[1]],
  ]);
});

const SIZES: [what: string, sizes: number[], batches: number[][]][] = [
  ['what fits is one', [40, 60], [[40, 60]]],
  ['what does not is two', [40, 61, 20], [[40], [61, 20]]],
  ['a record that fits none is one by itself', [500, 10, 500], [[500], [10], [500]]],
];

test.each(SIZES)('batches of a partition: %s', (_what, sizes, batches) => {
  const sized = (partition: number, bytes: number) => ({ topic: 'a', partition, value: Buffer.alloc(bytes) });
  const requests = requestsByLeader([...sizes.map((bytes) => sized(0, bytes)), sized(1, 90)], () => 1, 100);
  const found = (of: number) =>
    requests.map(([topic]) =>
      topic?.messages.flatMap(({ partition, value }) => (partition === of ? [value?.length] : [])),
    );
  expect(found(0)).toEqual(batches);
  expect(found(1)).toEqual(batches.map((_, index) => (index === 0 ? [90] : [])));
});

test('no records are no request', () => {
  expect(requestsByLeader([], () => 1)).toEqual([]);
});
