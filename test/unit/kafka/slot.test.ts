import { expect, test } from 'vitest';
import { createSlot, dropWaiting, type Fetched, isFull } from '#infra/kafka/slot.ts';

const MIB = 1024 * 1024;
const fetched = (bytes: number): Fetched => ({
  records: [],
  fetchedOffset: 0,
  lag: 0,
  bytes,
  generation: 1,
  jumps: 0,
  strayed: false,
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
