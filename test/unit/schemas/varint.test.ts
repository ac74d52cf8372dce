import avsc from 'avsc';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readLong } from '#schemas/wire.ts';

/** The largest number that the schema library writes, and the least that it writes exactly. */
const [MOST, LEAST] = [Number.MAX_SAFE_INTEGER - 1, -(2 ** 52)];
const LONG = avsc.Type.forSchema('long');

test('every number that the schema library writes is read', () => {
  const whole = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.constantFrom(MOST, 2 ** 52, LEAST));
  const written = whole.filter((number) => number >= LEAST && number <= MOST);
  fc.assert(
    fc.property(written, (number) => {
      const cursor = { buffer: LONG.toBuffer(number), at: 0 };
      expect(readLong(cursor)).toBe(number);
      expect(cursor.at).toBe(cursor.buffer.length);
    }),
  );
});
