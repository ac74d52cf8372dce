import { expect, test } from 'vitest';
import {
  appendRows,
  type BlockPlan,
  dedupToken,
  type PendingRows,
  PLAN_PARTITIONS_MAX,
  pendingFrom,
  placeOf,
  planOf,
  readPlan,
  rowsOf,
  topicIdOfPlan,
  writePlan,
} from '#pipelines/warehouse/block.ts';

const SEVERAL: BlockPlan = new Map([
  [3, { first: 5, last: 9_000_000_000 }],
  [0, { first: 7, last: 7 }],
]);
const ALONE: BlockPlan = new Map([[4, { first: 5, last: 9 }]]);

test('a plan is read as it was written, by each of its partitions, anything else is none', () => {
  for (const plan of [SEVERAL, ALONE]) expect(readPlan(writePlan(plan))).toEqual(plan);
  for (const text of [
    '',
    'plan:',
    'plan:1',
    'plan:1-',
    'plan:5-9',
    'plan:-1-2',
    'xplan:1-2',
    'plan:1-2 ',
    'plan:0:1-2,',
    'plan:0:1',
  ]) {
    expect(readPlan(text)).toBe(null);
  }
});

const LOG = 'q0Xf-_3kQ4mS2nV8yZ7w1A';

test('a plan and a block of a topic that was made anew are others', () => {
  const text = writePlan(SEVERAL, LOG);
  expect(readPlan(text)).toEqual(SEVERAL);
  expect(topicIdOfPlan(text)).toBe(LOG);
  for (const before of [writePlan(SEVERAL), '']) expect(topicIdOfPlan(before)).toBe('');
  for (const plan of [SEVERAL, ALONE]) {
    const token = dedupToken('events.identified', plan, LOG);
    expect(token).not.toBe(dedupToken('events.identified', plan, 'another'));
    expect(placeOf(token)).toEqual(placeOf(dedupToken('events.identified', plan)));
  }
});

test('a plan of as many partitions as there may be fits the metadata of an offset', () => {
  const ranges = Array.from({ length: PLAN_PARTITIONS_MAX }, (_, index) => {
    return [9_899 + index, { first: 10 ** 14, last: 10 ** 15 }] as const;
  });
  expect(writePlan(new Map(ranges), LOG).length).toBeLessThan(4_096);
});

test.for([
  [SEVERAL, 'events/0:7-7,3:5-9000000000', { partition: 0, offset: 7 }],
  [ALONE, 'events/4/5-9', { partition: 4, offset: 5 }],
] as const)('a block is named by its ranges, in the order of their partitions: %s', ([plan, token, place]) => {
  expect(dedupToken('events', plan)).toBe(token);
  expect(placeOf(token)).toEqual(place);
});

test.for(['', 'events', 'events/', 'events/a/5-9', 'events/4/5'])(
  'a token that names no place is an error: %s',
  (token) => {
    expect(() => placeOf(token)).toThrow(expect.objectContaining({ code: 'stored_data_unreadable' }));
  },
);

function gathered(next: number, ...records: [offset: number, ...rows: string[]][]): PendingRows<string> {
  const some = pendingFrom<string>(next, 0);
  for (const [offset, ...rows] of records) appendRows(some, offset, rows, 10);
  return some;
}

test('a block covers the partitions with rows, from their first record to their last', () => {
  const parts = new Map([
    [2, gathered(0, [4, 'c'], [7], [8])],
    [1, gathered(0, [1, 'a'], [2, 'b'])],
    [0, gathered(0, [6])],
    [5, gathered(9)],
  ]);
  const plan = planOf(parts);
  expect(plan).toEqual(
    new Map([
      [2, { first: 4, last: 8 }],
      [1, { first: 1, last: 2 }],
    ]),
  );
  expect(rowsOf(plan, (partition) => parts.get(partition)?.rows ?? [])).toEqual(['a', 'b', 'c']);
  expect([...parts.values()].map(({ next }) => next)).toEqual([9, 3, 7, 9]);
});
