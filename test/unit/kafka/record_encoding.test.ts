import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeRecord, internal } from '#infra/kafka/kafkajs_patches/client_patches.ts';

const encodeByClient = internal<(record: object) => { buffer: Buffer }>('protocol/recordBatch/record/v0/index.js');

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)),
  fc.string({ unit: 'grapheme', maxLength: 100 }),
  fc.constant(null),
);
const records = fc.record(
  {
    offsetDelta: fc.nat({ max: 2 ** 31 - 1 }),
    timestampDelta: fc.integer({ min: -(2 ** 45), max: 2 ** 45 }),
    key: bytes,
    value: bytes,
    headers: fc.dictionary(
      fc.string({ unit: 'grapheme', maxLength: 70 }),
      fc.oneof(
        bytes.filter((one) => one !== null),
        fc.array(
          bytes.filter((one) => one !== null),
          { maxLength: 3 },
        ),
      ),
      { maxKeys: 5, noNullPrototype: true },
    ),
  },
  { requiredKeys: [] },
);

test('a record is encoded as the client encodes it, byte by byte', () => {
  fc.assert(
    fc.property(records, (record) => {
      expect(encodeRecord(record).buffer).toEqual(encodeByClient(record).buffer);
    }),
    { seed: 11, numRuns: 2_000 },
  );
});

test('a value larger than any number of bytes that one digit tells is encoded whole', () => {
  const record = { offsetDelta: 70, value: Buffer.alloc(3_000_000, 7), headers: { name: 'x'.repeat(300) } };
  expect(encodeRecord(record).buffer.equals(encodeByClient(record).buffer)).toBe(true);
});
