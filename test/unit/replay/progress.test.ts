import { expect, test } from 'vitest';
import {
  addCounts,
  beginReading,
  counted,
  inPhase,
  isOver,
  newProgress,
  shareRead,
} from '#pipelines/redelivery/replay.ts';

const range = [
  { partition: 0, first: 10, next: 10, end: 20 },
  { partition: 1, first: 0, next: 0, end: 30 },
];
const counts = { seen: 5, delivered: 2, pending: 1, unreadable: 1, chosen: 2, skipped_before: 1 };

test('a reading adds up counts, and the next one begins from nothing at the same place', () => {
  const counting = beginReading(newProgress('r1', 1), 'counting', range, 2);
  expect([shareRead(newProgress('r1', 1)), shareRead(counting)]).toEqual([null, 0]);
  const half = addCounts(addCounts(counting, 0, 20, counts, 3), 1, 10, counts, 4);
  expect(half).toMatchObject({
    seen: 10,
    delivered: 4,
    pending: 2,
    unreadable: 2,
    chosen: 4,
    skipped_before: 2,
    updated_at: 4,
  });
  expect(shareRead(half)).toBe(0.5);
  const sending = beginReading(counted(half), 'sending', half.partitions, 5);
  expect(sending).toMatchObject({
    phase: 'sending',
    partitions: range,
    seen: 0,
    chosen: 0,
    skipped_before: 0,
    to_send: 4,
    found: { delivered: 4, pending: 2, unreadable: 2, skipped_before: 2 },
  });
});

test('an empty range is read as soon as it is known', () => {
  expect(shareRead(beginReading(newProgress('r1', 1), 'counting', [], 2))).toBe(1);
});

test('what is over stays over', () => {
  const phases = ['waiting', 'counting', 'sending', 'draining', 'done', 'cancelled', 'failed'] as const;
  expect(phases.filter(isOver)).toEqual(['done', 'cancelled', 'failed']);
  expect(inPhase(newProgress('r1', 1), 'failed', 'too_many_letters', 9)).toMatchObject({
    phase: 'failed',
    detail: 'too_many_letters',
    updated_at: 9,
  });
});
