import { expect, test } from 'vitest';
import { timeRead } from '#pipelines/query/time_read.ts';

const time = { from: 10_000, to: 12_000 };
const ever = { from: 0, to: 12_000 };
const person = { field: { person: { property: ['plan'] }, seen: 'last' }, is: 'set' };

test.each([
  ['its own', time, time],
  ['with the time before', { ...time, compare: 'previous' }, { from: 8_000, to: 12_000 }],
  ['with touches before', { ...time, breakdown: { lookback_ms: 500 } }, { from: 9_500, to: 12_000 }],
  ['no earlier than 1970', { ...time, breakdown: { lookback_ms: 50_000 } }, ever],
  ['all there is, for the first ever', { ...time, mode: 'first_ever' }, ever],
  ['all there is, for values of persons', { ...time, steps: [{ filters: [{ any: [person] }] }] }, ever],
  ['that of the chart that is listed', { of: { retention: { ...time, mode: 'first_ever' }, cohort: 1 } }, ever],
  ['none', { limit: 5, filters: [] }, null],
])('the time that a query reads: %s', (_what, query, expected) => {
  expect(timeRead(query)).toEqual(expected);
});
