import { expect, test } from 'vitest';
import { money } from '#services/dashboard/src/format.ts';

test.for([
  [980, 'JPY', '¥980'],
  [5000, 'JPY', '¥5,000'],
  [3.702, 'KWD', 'KWD 3.702'],
  [1000.5, 'KWD', 'KWD 1,000.500'],
  [5000.5, 'HUF', 'Ft 5,000.50'],
  [1.25, 'IQD', 'IQD 1.250'],
  [40.4, 'USD', '$40.40'],
  [40_863, 'USD', '$40,863.00'],
  [-0.3, 'EUR', '-€0.30'],
  [9.5, '', '9.5'],
  [9.5, 'points', '9.5 points'],
] as const)('%d of %s is %s', ([value, currency, text]) => {
  expect(money(value, currency).replaceAll('\u00a0', ' ')).toBe(text);
});
