import { describe, expect, it } from 'vitest';
import { isSolved, makeChallenge } from '#pipelines/engage/challenge.ts';
import { checkEngageToken, issueEngageToken } from '#pipelines/engage/engage_token.ts';
import { holdsGroupedCard, redactCards } from '#pipelines/privacy/redact_cards.ts';

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

  it.each(['x', token.replace('abc', 'xbc'), `1${token}`, `${token}x`, token.slice(0, -1), 'a.b.c'])(
    'is none when it is %s',
    (forged) => {
      expect(checkEngageToken(SECRET, subject, forged, NOW_MS)).toEqual({ ok: false, code: 'token_forged' });
    },
  );

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

describe('a card number', () => {
  it.each(['4111111111111111', '4111 1111 1111 1111', '5500-0000-0000-0004', '340000000000009', '2223000048400011'])(
    '%s goes',
    (card) => {
      expect(redactCards(`card ${card}, please`)).toBe('card redacted, please');
    },
  );

  it.each([
    ['4111 1111 1111 1111 12/27', 'redacted 12/27'],
    ['4111111111111111 123', 'redacted 123'],
    ['12 4111 1111 1111 1111', '12 redacted'],
    ['4111 1111 1111 1111 5500 0000 0000 0004', 'redacted redacted'],
    ['4111 - 1111 - 1111 - 1111', 'redacted'],
    ['4111.1111.1111.1111', 'redacted'],
    ['４１１１１１１１１１１１１１１１', 'redacted'],
    ['https://a.example/?q=4111%201111%201111%201111&b=1', 'https://a.example/?q=redacted&b=1'],
    ['https://a.example/?q=card+4111+1111+1111+1111', 'https://a.example/?q=card+redacted'],
    ['https://a.example/?q=card%204111111111111111', 'https://a.example/?q=card%20redacted'],
    ['4111111111111111, 3 of them', 'redacted, 3 of them'],
  ])('in %j goes, and what stands beside it stays', (text, clean) => expect(redactCards(text)).toBe(clean));

  it.each([
    ['Mastercard', '2720990000000007'],
    ['Maestro', '6304000000000000'],
    ['Mir', '2200000000000004'],
    ['Diners Club', '36006666333344'],
    ['JCB', '3528000700000000'],
    ['Visa of 13 digits', '4222222222222'],
  ])('of %s goes', (_issuer, card) => expect(redactCards(card)).toBe('redacted'));

  it('is none by its check digit alone: of 1,000 ids as Meta’s campaigns have them each stays', () => {
    const ids = Array.from({ length: 1_000 }, (_, at) => `2385${(7_919 * at).toString().padStart(13, '0')}`);
    expect(ids.filter((id) => redactCards(id) !== id)).toEqual([]);
  });

  it('in groups is no id, alone it may be one', () => {
    expect(holdsGroupedCard('4111 1111 1111 1111')).toBe(true);
    expect(holdsGroupedCard('u-4111-1111-1111-1111')).toBe(true);
    expect(holdsGroupedCard('４１１１－１１１１－１１１１－１１１１')).toBe(true);
    expect(holdsGroupedCard('my card is 4111111111111111 thanks')).toBe(true);
    expect(holdsGroupedCard('4111111111111111')).toBe(false);
    expect(holdsGroupedCard(' 4111111111111111 ')).toBe(false);
    expect(holdsGroupedCard('u-4111111111111111')).toBe(false);
    expect(holdsGroupedCard('0192f6a1-5f0e-7c33-9a51-5b0c6a2f7d10')).toBe(false);
  });

  it.each([
    '4111111111111112',
    '9111111111111111',
    '123456789012',
    '12345678901234567890',
    '0.4111111111111111',
    '4111111111111111.5',
  ])('%s is none', (text) => {
    expect(redactCards(text)).toBe(text);
  });
});
