import { expect, test } from 'vitest';
import { createPasswords, isPasswordHash, PasswordsBusyError } from '#infra/secrets/password.ts';

const CHEAP = { ln: 10, r: 8, p: 1 };

test('a password is known by its hash, which differs each time and is read with its own cost', async () => {
  const passwords = createPasswords(CHEAP);
  const [one, two] = await Promise.all([passwords.hash('pässword 1'), passwords.hash('pässword 1')]);
  expect(one).not.toBe(two);
  expect(isPasswordHash(one)).toBe(true);
  const other = createPasswords({ ln: 11, r: 8, p: 2 });
  expect(await other.verify('pässword 1', one)).toBe(true);
  expect(await other.verify('pässword 1'.normalize('NFD'), one)).toBe(true);
  expect(await other.verify('pässword 2', one)).toBe(false);
  expect(await other.verify('pässword 1\0', one)).toBe(false);
});

test('what is no hash, or would cost too much, is known by no password', async () => {
  const passwords = createPasswords(CHEAP);
  const hash = await passwords.hash('x');
  const bad = ['', 'x', hash.replace('ln=10', 'ln=30'), hash.replace('r=8', 'r=64'), `${hash}x`];
  expect(bad.map(isPasswordHash)).toEqual(bad.map(() => false));
  for (const text of bad) expect(await passwords.verify('x', text)).toBe(false);
  expect(await passwords.verify('x', null)).toBe(false);
});

test('the cost that is used by default can be paid', async () => {
  const passwords = createPasswords();
  expect(await passwords.verify('x', await passwords.hash('x'))).toBe(true);
});

test('two are compared at once, a few wait, and more are refused', async () => {
  const passwords = createPasswords(CHEAP);
  const tries = await Promise.allSettled(Array.from({ length: 30 }, () => passwords.verify('x', null)));
  const refused = tries.filter((one) => one.status === 'rejected');
  expect(refused).toHaveLength(8);
  for (const { reason } of refused) expect(reason).toBeInstanceOf(PasswordsBusyError);
  expect(await passwords.verify('x', null)).toBe(false);
});
