import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openSecret, parseKeyRing, type SecretPlace, sealSecret } from '#infra/secrets/seal.ts';
import { cases } from '#test/harness/environment.ts';

const key = (id: string, byte: number): string => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;
const ring = parseKeyRing(key('k1', 1));
const place: SecretPlace = { siteId: 'shop', destination: 'meta', field: 'access_token' };
const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const places = fc.record({ siteId: text, destination: text, field: text });

describe('a sealed secret', () => {
  it('opens in its place to what was sealed', () => {
    fc.assert(
      fc.property(text, places, (value, somewhere) => {
        const sealed = sealSecret(ring, somewhere, value, randomBytes);
        expect(sealed).toMatch(/^k1\.[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]+$/);
        expect(openSecret(ring, somewhere, sealed)).toEqual({ ok: true, value });
      }),
    );
  });

  it('looks different each time and does not contain the value', () => {
    const first = sealSecret(ring, place, 'EAAB-token', randomBytes);
    const second = sealSecret(ring, place, 'EAAB-token', randomBytes);
    expect(first).not.toBe(second);
    expect(Buffer.from(first.split('.')[2] ?? '', 'base64url').toString('latin1')).not.toContain('EAAB');
  });

  it('opens after a rotation, and the new key seals', () => {
    const rotated = parseKeyRing(`${key('k2', 2)},${key('k1', 1)}`);
    const old = sealSecret(ring, place, 'v', randomBytes);
    expect(openSecret(rotated, place, old)).toEqual({ ok: true, value: 'v' });
    expect(sealSecret(rotated, place, 'v', randomBytes)).toMatch(/^k2\./);
  });
});

describe('a sealed secret does not open', () => {
  it('without its key', () => {
    const sealed = sealSecret(ring, place, 'v', randomBytes);
    expect(openSecret(parseKeyRing(key('k2', 1)), place, sealed)).toEqual({ ok: false, code: 'secret_key_unknown' });
  });

  it('with another key of the same id', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), text, (bytes, value) => {
        fc.pre(bytes.some((byte) => byte !== 1));
        const other = parseKeyRing(`k1:${Buffer.from(bytes).toString('base64')}`);
        const sealed = sealSecret(ring, place, value, randomBytes);
        expect(openSecret(other, place, sealed)).toEqual({ ok: false, code: 'secret_key_wrong' });
      }),
    );
  });

  it('under the id of another key of the ring', () => {
    const both = parseKeyRing(`${key('k1', 1)},${key('k2', 2)}`);
    const relabelled = sealSecret(both, place, 'v', randomBytes).replace(/^k1/, 'k2');
    expect(openSecret(both, place, relabelled)).toEqual({ ok: false, code: 'secret_key_wrong' });
  });

  it('in any other place', () => {
    fc.assert(
      fc.property(places, places, text, (here, there, value) => {
        fc.pre(JSON.stringify(here) !== JSON.stringify(there));
        const sealed = sealSecret(ring, here, value, randomBytes);
        expect(openSecret(ring, there, sealed)).toEqual({ ok: false, code: 'secret_misplaced' });
      }),
    );
  });

  it.each([
    { ...place, siteId: 'travel' },
    { ...place, destination: 'tiktok' },
    { ...place, field: 'app_secret' },
    { siteId: 'shop","meta', destination: 'access_token', field: '' },
  ])('at %o', (elsewhere) => {
    const sealed = sealSecret(ring, place, 'v', randomBytes);
    expect(openSecret(ring, elsewhere, sealed)).toEqual({ ok: false, code: 'secret_misplaced' });
  });

  it('after any bit of nonce, header, ciphertext or tag was changed', () => {
    fc.assert(
      fc.property(text, fc.constantFrom(1, 2), fc.nat(), fc.nat(7), (value, part, position, bit) => {
        const parts = sealSecret(ring, place, value, randomBytes).split('.');
        const bytes = Buffer.from(parts[part] ?? '', 'base64url');
        const at = position % bytes.length;
        bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
        parts[part] = bytes.toString('base64url');
        expect(openSecret(ring, place, parts.join('.'))).toEqual({ ok: false, code: 'secret_tampered' });
      }),
      { numRuns: cases(500) },
    );
  });

  it('cut short or lengthened', () => {
    const [keyId, nonce, body = ''] = sealSecret(ring, place, 'a secret', randomBytes).split('.');
    const bytes = Buffer.from(body, 'base64url');
    for (const changed of [bytes.subarray(0, -1), Buffer.concat([bytes, Buffer.from([0])])]) {
      const sealed = `${keyId}.${nonce}.${changed.toString('base64url')}`;
      expect(openSecret(ring, place, sealed)).toEqual({ ok: false, code: 'secret_tampered' });
    }
  });

  it.each([
    '',
    'k1',
    'k1..',
    'k1.AAAA.AAAA',
    `k1.${'A'.repeat(16)}.${'A'.repeat(52)}`,
    `.${'A'.repeat(16)}.${'A'.repeat(60)}`,
    `k1.${'A'.repeat(16)}.${'A'.repeat(60)}.x`,
    `k1.${'A'.repeat(16)}.${'A'.repeat(60)}=`,
    `k1.${'A'.repeat(16)}.${'!'.repeat(60)}`,
    `k1.${'A'.repeat(16)}.${'A'.repeat(61)}B`,
  ])('when it is %j', (sealed) => {
    expect(openSecret(ring, place, sealed)).toEqual({ ok: false, code: 'secret_malformed' });
  });
});
