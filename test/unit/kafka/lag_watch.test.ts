import { expect, test } from 'vitest';
import { createWaitingTimes, lagOf } from '#infra/kafka/consumer/lag_watch.ts';

const AT = { topic: 'events.raw', partition: 3 };

test.each([
  ['of which nothing was committed yet', { low: 0, high: 7, committed: null }, 7],
  ['whose beginning was deleted before anything was committed', { low: 5, high: 7, committed: null }, 2],
  ['of which some is committed', { low: 0, high: 7, committed: 4 }, 3],
  ['of which all is committed', { low: 0, high: 7, committed: 7 }, 0],
  ['whose committed offset was deleted by age', { low: 6, high: 7, committed: 2 }, 1],
  ['whose end is behind what is committed, as after a leader was lost', { low: 0, high: 3, committed: 5 }, 0],
])('the lag of a partition %s', (_, position, records) => {
  expect(lagOf({ ...AT, ...position })).toEqual({ ...AT, records });
});

/** How long the oldest record waits that is not committed, each time somebody looks. */
function waited(
  looks: readonly (readonly [atMs: number, committed: number | null, high: number, low?: number])[],
): number[] {
  const waits = createWaitingTimes();
  return looks.map(([atMs, committed, high, low = 0]) => waits.at([{ ...AT, low, high, committed }], atMs)[0] ?? -1);
}

test.each([
  [
    'that has caught up waits for nothing',
    [
      [0, 7, 7],
      [5, 9, 9],
    ],
    [0, 0],
  ],
  [
    'waits since its end was first seen behind what is committed',
    [
      [0, 7, 7],
      [5, 7, 9],
      [10, 7, 12],
      [15, 7, 12],
    ],
    [0, 0, 5, 10],
  ],
  [
    'waits for as long as the oldest of the rest once some was taken',
    [
      [0, 0, 5],
      [10, 0, 9],
      [20, 5, 9],
      [30, 9, 9],
    ],
    [0, 10, 10, 0],
  ],
  [
    'of which nothing was committed waits from the first look on',
    [
      [0, null, 5],
      [10, null, 5],
    ],
    [0, 10],
  ],
  [
    'whose oldest records were deleted waits for what is left',
    [
      [0, null, 5],
      [10, null, 9],
      [20, null, 9, 5],
    ],
    [0, 10, 10],
  ],
  [
    'that was made anew is looked at anew',
    [
      [0, 0, 90],
      [10, 0, 5],
      [20, 0, 5],
    ],
    [0, 0, 10],
  ],
] as const)('a partition %s', (_, looks, expected) => {
  expect(waited(looks)).toEqual(expected);
});

test('a partition that falls behind for days takes no more memory, and its age is right from the first record on', () => {
  const looks = Array.from({ length: 10_000 }, (_, index) => [index * 5_000, 0, index + 1] as const);
  expect(waited(looks).at(-1)).toBe(9_999 * 5_000);
});

test('a partition that is given back is forgotten', () => {
  const waits = createWaitingTimes();
  const position = { ...AT, low: 0, high: 5, committed: 0 };
  waits.at([position], 0);
  waits.at([], 10);
  expect(waits.at([position], 20)).toEqual([0]);
});

test('a partition of which ends of before are known waits since the oldest that is not committed', () => {
  const waits = createWaitingTimes();
  const position = (committed: number) => ({ ...AT, low: 0, high: 9, committed });
  expect(waits.unknown([position(2), { ...AT, partition: 4, low: 0, high: 9, committed: 9 }])).toEqual([position(2)]);
  const past = [
    { ...AT, ageMs: 600, high: 4 },
    { ...AT, ageMs: 60, high: 9 },
  ];
  waits.begin(past, 1_000);
  expect(waits.unknown([position(2)])).toEqual([]);
  expect([waits.at([position(2)], 1_000), waits.at([position(4)], 1_005), waits.at([position(9)], 1_010)]).toEqual([
    [600],
    [65],
    [0],
  ]);
});
