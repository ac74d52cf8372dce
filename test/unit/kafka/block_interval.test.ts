import { expect, test } from 'vitest';
import { intervalFactor } from '#infra/kafka/block_sink.ts';

test.each([
  ['few rows', 200, 1_000, 1],
  ['none', 0, 1_000, 1],
  ['5,000 a second', 5_000, 1_000, 1],
  ['7,500 a second', 7_500, 1_000, 1.5],
  ['20,000 a second', 20_000, 1_000, 2],
  ['as many in blocks of two seconds', 40_000, 2_000, 2],
  ['many after a rest', 20_000, 3_600_000, 1],
])('blocks of %s take their time', (_, rows, sinceMs, factor) => {
  expect(intervalFactor(rows, sinceMs)).toBe(factor);
});
