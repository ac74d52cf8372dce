import { expect, test } from 'vitest';
import { windowOf } from '#services/dashboard/src/ui/data_table.tsx';

test('few rows are drawn whole, wherever the table is scrolled', () => {
  expect(windowOf(120, 9, 560)).toEqual({ first: 0, end: 120 });
});

test('of many rows those in sight are drawn, and some before and after', () => {
  expect(windowOf(50_000, 0, 360)).toEqual({ first: 0, end: 40 });
  expect(windowOf(50_000, 100, 360)).toEqual({ first: 990, end: 1_030 });
});

test('the last rows are drawn at the end, also where the list got shorter since it was scrolled', () => {
  expect(windowOf(50_000, 4_999, 360).end).toBe(50_000);
  expect(windowOf(1_000, 4_999, 360)).toEqual({ first: 980, end: 1_000 });
});
