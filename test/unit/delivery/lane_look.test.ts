import { expect, test } from 'vitest';
import { pollRetryTopic, type RetryPoll } from '#pipelines/delivery/retry_topics.ts';

const NOW = 1_000_000;
const DELAY = 60_000;

/** Dues are given in seconds from now. */
function look(
  duesS: number[],
  isMoreBehind = false,
  skipCount = 0,
): Omit<RetryPoll, 'notBeforeMs'> & { restS: number } {
  const duesMs = duesS.map((s) => NOW + s * 1000);
  const { notBeforeMs, ...rest } = pollRetryTopic({ duesMs, nowMs: NOW, delayMs: DELAY, isMoreBehind, skipCount });
  return { ...rest, restS: (notBeforeMs - NOW) / 1000 };
}

test.for<[string, ReturnType<typeof look>, Partial<ReturnType<typeof look>>]>([
  ['all are due', look([-5, -1, 0]), { take: [0, 1, 2], move: [], leaveFrom: null }],
  [
    'the rest waits for the one of it that is due first',
    look([-1, 50, 30, 40]),
    {
      take: [0],
      move: [],
      leaveFrom: 1,
      restS: 30,
    },
  ],
  [
    'one that is due much later makes way for one behind it',
    look([7200, -1, 30]),
    {
      take: [1],
      move: [0],
      leaveFrom: 2,
      restS: 30,
    },
  ],
  [
    'what becomes due behind a far one is waited for',
    look([7200, 20]),
    { take: [], move: [], leaveFrom: 0, restS: 20 },
  ],
  ['what comes in behind a far one is looked for in time', look([7200]), { leaveFrom: 0, restS: 60 }],
  [
    'far ones make way for what was not read yet, in steps',
    look([7200, 7300, 20], true),
    {
      take: [],
      move: [0, 1],
      leaveFrom: 2,
      restS: 6,
    },
  ],
  [
    'nothing but far ones is not moved at once again',
    look([7200, 7300], true),
    { move: [0, 1], leaveFrom: 2, restS: 6 },
  ],
  [
    'what a pass goes over makes way, and the rest is looked at in its time',
    look([20, 30, 40], true, 2),
    { take: [], move: [0, 1], leaveFrom: 2, restS: 20 },
  ],
  ['a pass goes on at once behind what was read', look([20, 30], true, 2), { move: [0, 1], leaveFrom: null }],
  ['a pass leaves what nothing lies behind', look([20, 30], false, 2), { move: [], leaveFrom: 0, restS: 20 }],
  ['near ones stay in order', look([20, 7200], true), { take: [], move: [], leaveFrom: 0, restS: 20 }],
])('%s', ([, seen, expected]) => {
  expect(seen).toMatchObject(expected);
});

/** Plays a lane of random records to its end and answers how late each was taken. */
function play(dues: number[], window: number): number[] {
  let nowMs = NOW;
  let retryTopic = dues.map((dueMs, id) => ({ id, dueMs }));
  const late: number[] = [];
  for (let step = 0; retryTopic.length > 0; step++) {
    if (step > 10_000) throw new Error('the lane does not end');
    const read = retryTopic.slice(0, window);
    const duesMs = read.map(({ dueMs }) => dueMs);
    const looked = pollRetryTopic({
      duesMs,
      nowMs,
      delayMs: DELAY,
      isMoreBehind: retryTopic.length > window,
      skipCount: 0,
    });
    for (const place of looked.take) {
      const one = read[place];
      if (one !== undefined) late[one.id] = nowMs - one.dueMs;
    }
    const moved = looked.move.flatMap((place) => read[place] ?? []);
    retryTopic = [...retryTopic.slice(looked.leaveFrom ?? read.length), ...moved];
    if (looked.leaveFrom !== null) nowMs = Math.max(nowMs, looked.notBeforeMs);
  }
  return late;
}

test('records that are read together are each taken when they are due', () => {
  const dues = [9000, 5, 70, 3, 400, 1, 65, 12_000, 0].map((s) => NOW + s * 1000);
  expect(play(dues, 100)).toEqual(dues.map(() => 0));
});

test('a lane whose head is full of far records brings those behind them within a few steps', () => {
  const far = Array.from({ length: 40 }, () => NOW + 7_200_000);
  const late = play([...far, NOW + 60_000, NOW + 62_000], 5);
  expect(Math.max(...late.slice(40))).toBeLessThan(DELAY);
  expect(late.slice(0, 40).every((ms) => ms >= 0)).toBe(true);
});
