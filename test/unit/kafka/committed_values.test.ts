import { expect, test } from 'vitest';
import { createCommittedValues, type FetchedRecord } from '#infra/kafka/offset_log.ts';

const written = (offset: number, producerId: string, key: string, value: string): FetchedRecord => ({
  offset: String(offset),
  key: Buffer.from(key),
  value: Buffer.from(value),
  isControlRecord: false,
  batchContext: { producerId, inTransaction: true },
});

function ended(offset: number, producerId: string, type: 'commit' | 'abort'): FetchedRecord {
  const key = Buffer.from([0, 0, 0, type === 'commit' ? 1 : 0]);
  return {
    offset: String(offset),
    key,
    value: Buffer.alloc(6),
    isControlRecord: true,
    batchContext: { producerId, inTransaction: true },
  };
}

test('the last committed value of a key counts, whatever else is open or aborted', () => {
  const log = createCommittedValues(0);
  log.take([written(0, '7', 'a', '1'), written(1, '7', 'b', '5'), written(2, '8', 'a', '9')]);
  expect(log.last('a')).toBeUndefined();
  log.take([ended(3, '7', 'commit'), written(4, '7', 'a', '2')]);
  expect([log.last('a'), log.last('b'), log.next()]).toEqual(['1', '5', 5]);
  log.take([ended(5, '7', 'abort'), ended(6, '7', 'commit')]);
  expect(log.last('a')).toBe('1');
  log.take([ended(9, '8', 'commit')]);
  expect([log.last('a'), log.next()]).toEqual(['9', 10]);
});

test('what was written outside of a transaction counts at once', () => {
  const log = createCommittedValues(0);
  const outside = { producerId: '-1', inTransaction: false };
  log.take([{ ...written(0, '-1', 'a', '1'), batchContext: outside }]);
  expect(log.last('a')).toBe('1');
});

test('what was taken before is not taken again', () => {
  const log = createCommittedValues(0);
  const first = [written(0, '7', 'a', '1'), ended(1, '7', 'commit')];
  log.take(first);
  log.take([written(2, '7', 'a', '2'), ended(3, '7', 'commit')]);
  log.take(first);
  expect([log.last('a'), log.next()]).toEqual(['2', 4]);
});

test('the end of a batch whose last records were compacted away moves on, and ends no transaction', () => {
  const log = createCommittedValues(4);
  const end = { offset: '9', key: null, value: null, isControlRecord: true };
  log.take([written(4, '7', 'a', '1'), { ...end, batchContext: { producerId: '7', inTransaction: true } }]);
  expect([log.last('a'), log.next()]).toEqual([undefined, 10]);
  log.take([ended(10, '7', 'commit')]);
  expect(log.last('a')).toBe('1');
});

test('a key with a tombstone has no value', () => {
  const log = createCommittedValues(0);
  log.take([written(0, '7', 'a', '1'), ended(1, '7', 'commit')]);
  log.take([{ ...written(2, '7', 'a', ''), value: null }, ended(3, '7', 'commit')]);
  expect(log.last('a')).toBeUndefined();
});
