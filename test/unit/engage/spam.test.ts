import { describe, expect, it } from 'vitest';
import { checkEngageToken, isSolved, issueEngageToken, makeChallenge } from '#pipelines/engage/spam.ts';
import { checkAll } from '#test/harness/check_all.ts';

const SECRET = Buffer.alloc(32, 7);
const NOW_MS = Date.UTC(2026, 10, 24);
const DAY_MS = 86_400_000;
const subject = { siteId: 'shop', name: 'form:quote', version: 3 } as const;

describe('a token', () => {
  const token = issueEngageToken(SECRET, subject, NOW_MS, 'abcdefghijkl');

  it('says when it was handed out', () => {
    const checked = checkEngageToken(SECRET, subject, token, NOW_MS + 5);
    expect(checked).toEqual({ ok: true, issuedMs: NOW_MS, nonce: 'abcdefghijkl' });
  });

  it.each([
    ['another site', { ...subject, siteId: 'other' }],
    ['another form', { ...subject, name: 'form:other' as const }],
    ['another version', { ...subject, version: 2 }],
  ])('is none for %s', (_what, other) => {
    expect(checkEngageToken(SECRET, other, token, NOW_MS)).toEqual({ ok: false, code: 'token_forged' });
  });

  it('is none when it is changed, of another form, or old', () =>
    checkAll(['x', token.replace('abc', 'xbc'), `1${token}`, `${token}x`, token.slice(0, -1), 'a.b.c'], (forged) => {
      expect(checkEngageToken(SECRET, subject, forged, NOW_MS)).toEqual({ ok: false, code: 'token_forged' });
    }));

  it('is none of another secret, and none at all', () => {
    expect(checkEngageToken(Buffer.alloc(32, 8), subject, token, NOW_MS)).toMatchObject({ code: 'token_forged' });
    expect(checkEngageToken(SECRET, subject, '', NOW_MS)).toEqual({ ok: false, code: 'token_missing' });
  });

  it('holds for a day', () => {
    expect(checkEngageToken(SECRET, subject, token, NOW_MS + DAY_MS)).toMatchObject({ ok: true });
    expect(checkEngageToken(SECRET, subject, token, NOW_MS + DAY_MS + 1)).toMatchObject({ code: 'token_expired' });
    expect(checkEngageToken(SECRET, subject, token, NOW_MS - 60_001)).toMatchObject({ code: 'token_expired' });
  });
});

describe('a challenge', () => {
  const challenge = makeChallenge(SECRET, 'submission', NOW_MS, Buffer.from('00010203'.repeat(4), 'hex'));
  const number = Array.from({ length: challenge.maxnumber + 1 }, (_, at) => at).find((at) =>
    isSolved(SECRET, 'submission', { ...challenge, number: at }, NOW_MS),
  );
  const proof = { ...challenge, number: number ?? -1 };

  it('is solved by one number, which can be found', () => {
    expect(number).toBeTypeOf('number');
    expect(isSolved(SECRET, 'submission', { ...proof, number: proof.number + 1 }, NOW_MS)).toBe(false);
  });

  it('is solved for one submission, for ten minutes, and by nobody who makes one up', () => {
    expect(isSolved(SECRET, 'other', proof, NOW_MS)).toBe(false);
    expect(isSolved(SECRET, 'submission', proof, NOW_MS + 600_001)).toBe(false);
    expect(isSolved(SECRET, 'submission', { ...proof, signature: '0'.repeat(64) }, NOW_MS)).toBe(false);
    expect(isSolved(SECRET, 'submission', undefined, NOW_MS)).toBe(false);
  });
});
