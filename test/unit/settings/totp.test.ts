import { expect, test } from 'vitest';
import { base32, newTotpSecret, totpCode, totpStep, totpUri } from '#pipelines/settings/dashboard_users.ts';
import { checkAll } from '#test/harness/check_all.ts';

const SECRET = base32(Buffer.from('12345678901234567890'));

/** Appendix B of RFC 6238, cut to the six digits that apps show. */
test('the codes of RFC 6238 come at their times', () =>
  checkAll(
    [
      [59, '287082'],
      [1_111_111_109, '081804'],
      [1_111_111_111, '050471'],
      [1_234_567_890, '005924'],
      [2_000_000_000, '279037'],
      [20_000_000_000, '353130'],
    ],
    ([seconds, code]) => {
      expect(totpCode(SECRET, Math.floor(seconds / 30))).toBe(code);
      expect(totpStep(SECRET, code, seconds * 1000)).toBe(Math.floor(seconds / 30));
    },
  ));

test('the code of the step before and after is taken, and no other', () => {
  const nowMs = 1_000_000 * 30_000;
  const taken = [-2, -1, 0, 1, 2].map((offset) => totpStep(SECRET, totpCode(SECRET, 1_000_000 + offset), nowMs));
  expect(taken).toEqual([null, 999_999, 1_000_000, 1_000_001, null]);
  expect(['', '28708', '28708a', '2870822', ' 287082'].map((code) => totpStep(SECRET, code, nowMs))).toEqual(
    Array(5).fill(null),
  );
});

test('a new secret is as apps take it', () => {
  const secret = newTotpSecret((bytes) => Buffer.alloc(bytes, 0xa5));
  expect(secret).toBe('UWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNF');
  expect(totpUri(secret, 'Event ingest', 'ada')).toBe(
    `otpauth://totp/Event%20ingest:ada?secret=${secret}&issuer=Event%20ingest`,
  );
});
