import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { hmacSha256 } from '#pipelines/privacy/hash_identifiers.ts';

it('is HMAC-SHA256 for keys and messages of any length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.string({ unit: 'binary', maxLength: 300 }), (bytes, message) => {
      const key = Buffer.from(bytes);
      const expected = createHmac('sha256', key).update(message).digest('hex');
      expect(hmacSha256(key, message).toString('hex')).toBe(expected);
    }),
  );
});
