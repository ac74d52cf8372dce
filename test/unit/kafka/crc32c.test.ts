import fc from 'fast-check';
import { expect, test } from 'vitest';
import { internal } from '#infra/kafka/kafkajs_patches/client_patches.ts';
import { crc32c } from '#infra/kafka/kafkajs_patches/crc32c.ts';

const byClient = internal<(bytes: Uint8Array) => number>('protocol/recordBatch/crc32C/crc32C.js');

test('the checksum of bytes is that of the client, from any place on', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat({ max: 20 }), (bytes, from) => {
      expect(crc32c(bytes.subarray(from))).toBe(byClient(bytes.subarray(from)));
    }),
    { seed: 5, numRuns: 2_000 },
  );
});

// RFC 3720, appendix B.4.
test.each([
  ['32 zeros', Buffer.alloc(32), 0x8a9136aa],
  ['32 ones', Buffer.alloc(32, 0xff), 0x62a8ab43],
  ['32 that rise', Buffer.from(Array.from({ length: 32 }, (_, at) => at)), 0x46dd794e],
  ['nothing', Buffer.alloc(0), 0],
])('the checksum of %s is that of the standard', (_, bytes, sum) => {
  expect(crc32c(bytes)).toBe(sum);
});
