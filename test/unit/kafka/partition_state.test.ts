import { expect, test } from 'vitest';
import { createSlot, dropWaiting, type Fetched, isFull, takeWaiting } from '#infra/kafka/consumer/partition_state.ts';

const MIB = 1024 * 1024;
const fetched = (bytes: number): Fetched => ({
  records: [],
  fetchedOffset: 0,
  lastOffset: 0,
  endOffset: 1,
  lag: 0,
  bytes,
  generation: 1,
  jumps: 0,
  discontinuous: false,
});

const CASES: [what: string, waiting: number[], inWork: number, processBytes: number, full: boolean][] = [
  ['nothing', [], 0, 0, false],
  ['one batch in work', [], MIB, MIB, false],
  ['three small ones waiting', [10, 10, 10], 10, 40, false],
  ['four small ones waiting', [10, 10, 10, 10], 10, 50, true],
  ['many bytes in work', [], 5 * MIB, 5 * MIB, true],
  ['little, in a process that holds much', [], 10, 64 * MIB, true],
  ['nothing, in a process that holds much', [], 0, 64 * MIB, false],
];

test.each(CASES)('%s', (_what, waiting, inWork, processBytes, full) => {
  const slot = createSlot({ topic: 't', partition: 0 });
  slot.waiting = waiting.map(fetched);
  slot.bytes = waiting.reduce((sum, bytes) => sum + bytes, inWork);
  expect(isFull(slot, processBytes)).toBe(full);
  dropWaiting(slot);
  expect(slot).toMatchObject({ waiting: [], bytes: inWork });
});

/** Fetches of one record each, of ten bytes, at consecutive offsets from 5 on. */
function waiting(...changes: Partial<Fetched>[]): Fetched[] {
  return changes.map((change, index) => {
    const offset = 5 + index;
    const records = [{ offset, timestampMs: 0, key: null, value: Buffer.alloc(10), headers: {} }];
    return {
      ...fetched(10),
      records,
      fetchedOffset: offset,
      lastOffset: offset,
      endOffset: offset + 1,
      lag: 9 - offset,
      ...change,
    };
  });
}

const TAKEN: [what: string, changes: Partial<Fetched>[], bytesMax: number, count: number][] = [
  ['one', [{}], 100, 1],
  ['all that fit', [{}, {}, {}], 100, 3],
  ['not more than fit', [{}, {}, {}], 29, 2],
  ['one that does not fit', [{ bytes: 500 }, {}], 100, 1],
  ['none of another generation', [{}, { generation: 2 }], 100, 1],
  ['none of another position', [{}, { discontinuous: true }], 100, 1],
  ['none from before a jump', [{}, { jumps: 1 }], 100, 1],
  ['those behind one from another position', [{ discontinuous: true }, {}], 100, 2],
];

test.each(TAKEN)('merged into one batch: %s', (_what, changes, bytesMax, count) => {
  const slot = createSlot({ topic: 't', partition: 0 });
  const all = waiting(...changes);
  slot.waiting = [...all];
  const taken = takeWaiting(slot, bytesMax);
  expect(taken?.records.map(({ offset }) => offset)).toEqual([5, 6, 7].slice(0, count));
  const bytes = all.slice(0, count).reduce((sum, one) => sum + one.bytes, 0);
  expect(taken).toMatchObject({
    fetchedOffset: 5,
    bytes,
    lag: 9 - 5 - (count - 1),
    discontinuous: all[0]?.discontinuous,
  });
  expect(taken).toMatchObject({ lastOffset: 4 + count, endOffset: 5 + count });
  expect(slot.waiting).toEqual(all.slice(count));
});

test('nothing is taken where nothing waits', () => {
  expect(takeWaiting(createSlot({ topic: 't', partition: 0 }), 100)).toBeUndefined();
});
