import { expect, test } from 'vitest';
import { gapsOf, type PartitionFacts, rangeOf } from '#pipelines/redelivery/replay.ts';

const facts = (over: Partial<PartitionFacts>): PartitionFacts => ({
  partition: 0,
  low: 0,
  high: 100,
  from: 20,
  to: 80,
  reached: 100,
  ...over,
});

test.for<[string, Partial<PartitionFacts>, [first: number, end: number] | null, number]>([
  ['the range by time', {}, [20, 80], 0],
  ['what is not kept any more is left out', { low: 30 }, [30, 80], 0],
  ['an end ahead is the end of the topic', { to: 200 }, [20, 100], 0],
  ['what delivery has yet to reach is left to it', { reached: 50 }, [20, 50], 30],
  ['all of it is left to delivery', { reached: 10 }, null, 60],
  ['dead letters are read to the end', { reached: null, to: 100 }, [20, 100], 0],
  ['nothing was appended in the range', { from: 80 }, null, 0],
  ['an empty partition', { high: 0, from: 0, to: 0, reached: 0 }, null, 0],
])('%s', ([, over, expected, notReached]) => {
  const range = rangeOf([facts(over)]);
  const partitions =
    expected === null ? [] : [{ partition: 0, first: expected[0], next: expected[0], end: expected[1] }];
  expect(range).toEqual({ partitions, notReached });
});

test.for<[string, Partial<PartitionFacts>, [first: number, end: number] | null]>([
  ['at the end', { reached: 80 }, null],
  ['but for the mark that ends a transaction', { to: 100, reached: 99 }, null],
  ['before it', { reached: 60 }, [60, 80]],
  ['before the range', { reached: 5 }, [20, 80]],
  ['nobody else reads it', { reached: null }, null],
  ['nothing is there', { low: 0, high: 0, from: 0, to: 0, reached: 0 }, null],
])('what delivery has yet to read of the range, where it is %s', ([, over, expected]) => {
  expect(gapsOf([facts(over)]).map(({ first, end }) => [first, end])).toEqual(expected === null ? [] : [expected]);
});
