import { expect, test } from 'vitest';
import { createWaitingTimes, lagOf, type Position } from '#infra/kafka/consumer/waiting_times.ts';

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

function looker() {
  const waits = createWaitingTimes();
  return (positions: readonly Position[], atMs: number): number[] => {
    waits.look(positions, atMs);
    return waits.ages(positions, atMs);
  };
}

/** How long the oldest record waits that is not committed, each time somebody looks. */
function waited(
  looks: readonly (readonly [atMs: number, committed: number | null, high: number, low?: number])[],
): number[] {
  const look = looker();
  return looks.map(([atMs, committed, high, low = 0]) => look([{ ...AT, low, high, committed }], atMs)[0] ?? -1);
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

test('a partition that is given back is forgotten', () => {
  const look = looker();
  const position = { ...AT, low: 0, high: 5, committed: 0 };
  look([position], 0);
  look([], 10);
  expect(look([position], 20)).toEqual([0]);
});

const [SECOND_MS, HOUR_MS] = [1_000, 3_600_000];
const LOOK_MS = 5 * SECOND_MS;

/** By how much of the truth what is said is off at the most (of at least five minutes), and the requests of each look: of a partition with a record a second since always. */
function followed(
  takenAt: (atMs: number) => number,
  { fromMs, toMs, isSeen = () => true }: { fromMs: number; toMs: number; isSeen?: (atMs: number) => boolean },
) {
  const waits = createWaitingTimes();
  const endAt = (atMs: number): number => Math.floor(atMs / SECOND_MS);
  const errors: number[] = [];
  const requests: number[] = [];
  for (let atMs = fromMs; atMs <= toMs; atMs += LOOK_MS) {
    if (!isSeen(atMs)) continue;
    const position = { ...AT, low: 0, high: endAt(atMs), committed: takenAt(atMs) };
    waits.look([position], atMs);
    let asked = 0;
    for (let at = waits.question(AT.topic, atMs); at !== null; at = waits.question(AT.topic, atMs)) {
      waits.learn(AT.topic, at, new Map([[AT.partition, endAt(at)]]));
      asked += 1;
    }
    requests.push(asked);
    const trueMs = atMs - position.committed * SECOND_MS;
    errors.push((trueMs - (waits.ages([position], atMs)[0] ?? 0)) / Math.max(trueMs, 300 * SECOND_MS));
  }
  return { tooLow: Math.max(...errors), tooHigh: -Math.min(...errors), requests };
}

const DAY_MS = 24 * HOUR_MS;

test.each<[string, (atMs: number) => number, Parameters<typeof followed>[1]]>([
  ['of which nothing is taken for a day', () => DAY_MS / SECOND_MS, { fromMs: DAY_MS, toMs: 2 * DAY_MS }],
  [
    'that catches up by two seconds a second after six hours',
    (atMs) => Math.min(atMs, DAY_MS + (atMs - DAY_MS - 6 * HOUR_MS) * 3) / SECOND_MS,
    { fromMs: DAY_MS + 6 * HOUR_MS, toMs: DAY_MS + 10 * HOUR_MS },
  ],
  [
    'that stays half an hour behind',
    (atMs) => atMs / SECOND_MS - 1_800,
    { fromMs: DAY_MS, toMs: DAY_MS + 3 * HOUR_MS },
  ],
  [
    'of a process that stood still itself for an hour',
    (atMs) => Math.min(atMs / SECOND_MS, DAY_MS / SECOND_MS + 100),
    { fromMs: DAY_MS, toMs: DAY_MS + 2 * HOUR_MS, isSeen: (atMs) => atMs <= DAY_MS || atMs > DAY_MS + HOUR_MS },
  ],
])('the age of a partition %s is known to a tenth, and Kafka is asked for it seldom', (_, takenAt, span) => {
  const { tooLow, tooHigh, requests } = followed((atMs) => Math.floor(takenAt(atMs)), span);
  expect(tooLow).toBeLessThan(0.11);
  expect(tooHigh).toBeLessThan(0.01);
  expect(Math.max(...requests)).toBeLessThanOrEqual(12);
  expect(requests.reduce((sum, one) => sum + one, 0) / requests.length).toBeLessThan(0.5);
});

test('the oldest of several partitions is known, and no more than that is asked for', () => {
  const waits = createWaitingTimes();
  const at = (partition: number, committed: number) => ({ topic: AT.topic, partition, low: 0, high: 1_000, committed });
  const positions = [at(0, 1_000), at(1, 400), at(2, 900)];
  waits.look(positions, 0);
  let asked = 0;
  for (let moment = waits.question(AT.topic, 0); moment !== null; moment = waits.question(AT.topic, 0)) {
    // A record a second.
    const high = Math.max(0, 1_000 + moment / SECOND_MS);
    waits.learn(AT.topic, moment, new Map([0, 1, 2].map((partition) => [partition, high])));
    asked += 1;
  }
  const ages = waits.ages(positions, 0);
  expect(ages[0]).toBe(0);
  expect(ages[1]).toBeGreaterThan(540_000);
  expect(ages[1]).toBeLessThanOrEqual(600_000);
  expect(ages[2]).toBeLessThanOrEqual(100_000);
  expect(asked).toBeLessThan(10);
});

test('of what Kafka does not tell it is asked no further than topics keep records', () => {
  const waits = createWaitingTimes();
  const position = { ...AT, low: 0, high: 9, committed: 2 };
  waits.look([position], 0);
  const moments: number[] = [];
  for (let moment = waits.question(AT.topic, 0); moment !== null; moment = waits.question(AT.topic, 0)) {
    moments.push(moment);
    waits.learn(AT.topic, moment, new Map([[AT.partition, 9]]));
  }
  expect(moments).toHaveLength(7);
  expect(waits.ages([position], 0)).toEqual([8 * DAY_MS]);
});
