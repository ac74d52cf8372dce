import { expect, it } from 'vitest';
import { murmur2, partitionOf } from '#schemas/wire.ts';

/** Vectors of Kafka's own UtilsTest.testMurmur2. */
const VECTORS: [string, number][] = [
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
];

it.each(VECTORS)('hashes %s as Kafka does', (text, hash) => {
  expect(murmur2(Buffer.from(text))).toBe(hash);
});

it('stays within the partitions', () => {
  for (let key = 0; key < 1000; key++) expect(partitionOf(`k${key}`, 7)).toBeLessThan(7);
});
