import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { issueSecret } from '#pipelines/settings/admin_tokens.ts';
import { hashKey, isKeyFormat } from '#pipelines/settings/callers.ts';
import { checkAll } from '#test/harness/check_all.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Bytes from a list, over and over; calls ask for what they still need, as with the real source. */
function bytesFrom(list: readonly number[]): (bytes: number) => Uint8Array {
  let at = 0;
  return (bytes) => Uint8Array.from({ length: bytes }, () => list[at++ % list.length] ?? 0);
}

describe('an issued key', () => {
  it('has the format of its caller, whatever the randomness', () => {
    const someUsable = fc.array(fc.nat(255), { minLength: 1 }).filter((list) => list.some((byte) => byte < 248));
    fc.assert(
      fc.property(fc.constantFrom('browser', 'server'), someUsable, (caller, list) => {
        const issued = issueSecret(caller, bytesFrom(list));
        expect(issued.secret).toMatch(caller === 'browser' ? /^svc_pk_[0-9A-Za-z]{32}$/ : /^svc_sk_[0-9A-Za-z]{32}$/);
        expect(isKeyFormat(issued.secret)).toBe(true);
        expect(issued.hash).toBe(createHash('sha256').update(issued.secret).digest('hex'));
        expect(issued.shownPrefix).toBe(issued.secret.slice(0, 11));
      }),
    );
  });

  it('takes each character from the same number of bytes', () => {
    const counts = new Map<string, number>();
    for (let byte = 0; byte < 248; byte += 1) {
      const character = issueSecret('browser', bytesFrom([byte])).secret.slice(7, 8);
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect([...counts.keys()].sort().join('')).toBe(Array.from(ALPHABET).sort().join(''));
    expect(new Set(counts.values())).toEqual(new Set([4]));
  });

  it.each([248, 251, 255])('throws away byte %i, which would favour some characters', (byte) => {
    expect(issueSecret('server', bytesFrom([byte, 61])).secret).toBe(`svc_sk_${'z'.repeat(32)}`);
  });

  it('is hashed as SHA-256 in lower-case hex', () => {
    expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});

describe('the key format', () => {
  it('refuses what is not one', () =>
    checkAll(
      [
        '',
        'svc_pk_',
        `svc_pk_${'a'.repeat(31)}`,
        `svc_pk_${'a'.repeat(33)}`,
        `svc_xk_${'a'.repeat(32)}`,
        `SVC_pk_${'a'.repeat(32)}`,
        `svc_pk_${'a'.repeat(31)}-`,
        `svc_pk_${'a'.repeat(31)}\n`,
        ` svc_pk_${'a'.repeat(31)}`,
        `svc_pk_${'a'.repeat(1_000_000)}`,
      ],
      (text) => {
        expect(isKeyFormat(text)).toBe(false);
      },
    ));
});
