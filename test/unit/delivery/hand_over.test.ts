import { expect, test } from 'vitest';
import type { EntryOutcome } from '#pipelines/delivery/contract.ts';
import { handedOver, paused, skipped } from '#pipelines/delivery/delivery_run.ts';
import type { DeadLetter } from '#schemas/records.ts';
import type { Attempted } from '#services/delivery/attempts.ts';
import { type BatchWork, resolveBatch } from '#services/delivery/transform.ts';

const DELIVERED: EntryOutcome = { ...skipped(''), outcome: 'delivered' };
const records = [10, 11, 13, 14].map((offset) => ({ offset })) as never[];
const deadLetterAt = (offset: number): DeadLetter => ({ offset }) as DeadLetter;

const workOf = (outcomes: [number, EntryOutcome][], changes: Partial<BatchWork> = {}): BatchWork => ({
  attempted: outcomes.map(([offset, outcome]) => ({ offset, outcome }) as Attempted),
  unreadable: [],
  thrown: [],
  moved: [],
  ...changes,
});
const offsetsOf = ({ attempted, unreadable }: BatchWork): number[][] =>
  [attempted, unreadable].map((list: readonly { offset: number }[]) => list.map(({ offset }) => offset));

test('a batch in which all was begun is committed as it is', () => {
  const work = workOf([
    [10, DELIVERED],
    [13, paused('breaker_open', '', 1)],
  ]);
  expect(resolveBatch(work, { records }, 1)).toBe(work);
});

test('records behind the last of which something was done stay where they are', () => {
  const work = workOf(
    [
      [10, DELIVERED],
      [10, handedOver()],
      [11, DELIVERED],
      [13, skipped('too_old')],
      [13, handedOver()],
      [14, paused('breaker_open', '', 1)],
    ],
    { unreadable: [deadLetterAt(11), deadLetterAt(14)] },
  );
  const cut = resolveBatch(work, { records }, 7);
  expect(offsetsOf(cut)).toEqual([[10, 10, 11], [11]]);
  expect(cut.leave).toEqual({ offset: 13, notBeforeMs: 1_007 });
});

test('what was not begun before the last that was done goes to a lane', () => {
  const work = workOf([
    [10, handedOver()],
    [14, DELIVERED],
  ]);
  expect(resolveBatch(work, { records }, 1)).toBe(work);
});

test('a lane that is left earlier anyway is left there', () => {
  const work = workOf(
    [
      [10, handedOver()],
      [11, DELIVERED],
    ],
    { leave: { offset: 13, notBeforeMs: 99 } },
  );
  expect(resolveBatch(work, { records }, 1)).toBe(work);
});

test('beside an event that threw nothing is left, as its record cannot be told', () => {
  const work = workOf(
    [
      [10, DELIVERED],
      [13, handedOver()],
    ],
    { thrown: [deadLetterAt(-1)] },
  );
  expect(resolveBatch(work, { records }, 1)).toBe(work);
});
