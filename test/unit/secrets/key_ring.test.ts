import { describe, expect, it } from 'vitest';
import { KeyRingError, parseKeyRing } from '#infra/secrets/seal.ts';

const encoded = (byte: number): string => Buffer.alloc(32, byte).toString('base64');

describe('a configured key ring', () => {
  it('seals with the first key and opens with all', () => {
    const ring = parseKeyRing(` new:${encoded(1)} , old:${encoded(2)}\n`);
    expect(ring.first.keyId).toBe('new');
    expect([...ring.byId.keys()]).toEqual(['new', 'old']);
  });

  it('takes base64 with or without padding, and base64url', () => {
    const bytes = Buffer.alloc(32, 0xfb);
    const texts = [bytes.toString('base64'), bytes.toString('base64').replace('=', ''), bytes.toString('base64url')];
    const fingerprints = texts.map((text) => parseKeyRing(`k:${text}`).first.fingerprint.toString('hex'));
    expect(new Set(fingerprints).size).toBe(1);
  });

  it.each([
    ['', 'key 1 is not id:base64'],
    ['k', 'key 1 is not 32 bytes of base64'],
    [encoded(1), 'key 1 is not id:base64'],
    ['k:', 'key 1 is not 32 bytes of base64'],
    [`k:${Buffer.alloc(16).toString('base64')}`, 'key 1 is not 32 bytes of base64'],
    [`k:${Buffer.alloc(33).toString('base64')}`, 'key 1 is not 32 bytes of base64'],
    [`k.1:${encoded(1)}`, 'key 1 is not id:base64'],
    [`:${encoded(1)}`, 'key 1 is not id:base64'],
    [`k:${encoded(1)}:x`, 'key 1 is not id:base64'],
    [`k:${encoded(1)},`, 'key 2 is not id:base64'],
    [`k:${encoded(1)},k:${encoded(2)}`, 'key 2 repeats the id k'],
  ])('%#: is refused with its code and without key material', (text, message) => {
    try {
      parseKeyRing(text);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(KeyRingError);
      expect(error).toMatchObject({ code: 'secrets_keys_malformed', message });
    }
  });
});
