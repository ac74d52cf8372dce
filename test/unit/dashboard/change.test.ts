import { expect, test } from 'vitest';
import { change } from '#services/dashboard/src/format.ts';

test.each([
  [112, 100, '+12.0%', 'up'],
  [50, 100, '−50.0%', 'down'],
  [5, 5, '0.0%', 'same'],
  [999, 100, '+899.0%', 'up'],
  [916, 5, '183× as much', 'up'],
])('%i after %i is %s', (now, before, text, direction) => {
  expect(change(now, before)).toEqual({ text, direction });
});

test.each([0, -10])('after %i no share can be told', (before) => {
  expect(change(5, before)).toBeNull();
});
