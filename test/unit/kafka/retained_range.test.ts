import { expect, test } from 'vitest';
import { endOf } from '#infra/kafka/consumer/consumption.ts';
import { createRetained } from '#infra/kafka/consumer/partition_state.ts';
import type { InRecord } from '#infra/kafka/record.ts';

test('an offset is kept unless the broker said that its log begins behind it', () => {
  const retained = createRetained();
  expect(retained.nearest(5)).toBe(5);
  retained.outOfRange(5, 8, 20);
  expect(retained.nearest(5)).toBe(8);
  expect(retained.nearest(9)).toBe(9);
  retained.forgetRange();
  expect(retained.nearest(5)).toBe(5);
});

test('behind a log that was cut off it goes on where that ended when it was first seen', () => {
  const retained = createRetained();
  retained.outOfRange(50, 0, 30);
  retained.outOfRange(50, 0, 34);
  expect(retained.nearest(50)).toBe(30);
  expect(retained.takeSkipped(50, 30)).toBe(0);
  expect(retained.nearest(40)).toBe(40);
  retained.reached(49);
  expect(retained.nearest(50)).toBe(30);
  retained.reached(50);
  expect(retained.nearest(50)).toBe(50);
});

test('offsets that are gone are counted once', () => {
  const retained = createRetained();
  expect(retained.takeSkipped(5, 5)).toBe(0);
  expect(retained.takeSkipped(5, 8)).toBe(3);
  expect(retained.takeSkipped(5, 8)).toBe(0);
  expect(retained.takeSkipped(5, 10)).toBe(2);
});

test('offsets that a fetch has shown to hold no record are not counted', () => {
  const retained = createRetained();
  retained.holdsNothing(5, 6);
  retained.holdsNothing(6, 9);
  retained.holdsNothing(5, 7);
  expect(retained.takeSkipped(5, 9)).toBe(0);
  retained.holdsNothing(20, 22);
  expect(retained.takeSkipped(20, 25)).toBe(3);
  retained.holdsNothing(30, 31);
  expect(retained.takeSkipped(28, 31)).toBe(3);
});

test('what is committed lies behind the markers that follow the last record, and only behind the last one', () => {
  const record = (offset: number): InRecord => ({ offset, timestampMs: 0, key: null, value: null, headers: {} });
  const batch = { records: [record(3), record(4)], lastOffset: 4, endOffset: 7 };
  expect(endOf(batch)).toBe(7);
  expect(endOf({ ...batch, records: [record(3)] })).toBe(4);
});
