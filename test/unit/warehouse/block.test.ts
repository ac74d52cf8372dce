import { expect, test } from 'vitest';
import { openBlock, readPlan, writePlan } from '#pipelines/warehouse/block.ts';

const part = (offset: number, ...rows: string[]) => ({ offset, rows });

test('a plan is read as it was written, anything else is none', () => {
  expect(readPlan(writePlan({ first: 7, last: 9_000_000_000 }))).toEqual({ first: 7, last: 9_000_000_000 });
  for (const text of ['', 'plan:', 'plan:1', 'plan:1-', 'plan:-1-2', 'xplan:1-2', 'plan:1-2 ']) {
    expect(readPlan(text)).toBe(null);
  }
});

test('an unplanned block is full by its rows and reaches from its first record to its last', () => {
  const block = openBlock<string>(null, 0);
  block.add(part(5, 'a'));
  expect(block.isFull(3)).toBe(false);
  block.add(part(8, 'b', 'c'));
  expect(block.isFull(3)).toBe(true);
  expect(block.fill()).toEqual({ first: 5, last: 8, rows: ['a', 'b', 'c'] });
});

test('a planned block is full at its planned end, however many rows it has', () => {
  const block = openBlock<string>({ first: 5, last: 8 }, 0);
  block.add(part(5, 'a', 'b', 'c', 'd'));
  expect(block.isFull(2)).toBe(false);
  block.add(part(8, 'e'));
  expect(block.isFull(100)).toBe(true);
  expect(block.fill()).toEqual({ first: 5, last: 8, rows: ['a', 'b', 'c', 'd', 'e'] });
});

test('a planned block keeps its range when its ends are gone', () => {
  const block = openBlock<string>({ first: 5, last: 8 }, 0);
  block.add(part(6, 'a'));
  expect([7, 8, 9].map((offset) => block.isPast(offset))).toEqual([false, false, true]);
  expect(block.fill()).toEqual({ first: 5, last: 8, rows: ['a'] });
});

test('a block is due by age once something is in it; a planned one waits for its end', () => {
  const block = openBlock<string>(null, 1_000);
  expect(block.isDue(99_000, 500)).toBe(false);
  block.add(part(0));
  expect([1_499, 1_500].map((nowMs) => block.isDue(nowMs, 500))).toEqual([false, true]);
  const planned = openBlock<string>({ first: 0, last: 3 }, 1_000);
  planned.add(part(0, 'a'));
  expect(planned.isDue(99_000, 500)).toBe(false);
});

test('an empty block has nothing to write; a block of records without rows does', () => {
  const block = openBlock<string>(null, 0);
  expect(block.fill()).toBe(null);
  block.add(part(4));
  expect(block.fill()).toEqual({ first: 4, last: 4, rows: [] });
});
