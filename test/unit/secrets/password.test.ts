import { expect, test } from 'vitest';
import { createPasswords, isPasswordHash, PasswordsBusyError } from '#infra/secrets/password.ts';

const CHEAP = { ln: 10, r: 8, p: 1 };

test('a password is known by its hash, which differs each time and is read with its own cost', async () => {
  const passwords = createPasswords(CHEAP);
  const [one, two] = await Promise.all([passwords.hash('pässword 1'), passwords.hash('pässword 1')]);
  expect(one).not.toBe(two);
  expect(isPasswordHash(one)).toBe(true);
  const other = createPasswords({ ln: 11, r: 8, p: 2 });
  expect(await other.verify('pässword 1', one, 'anybody')).toBe(true);
  expect(await other.verify('pässword 1'.normalize('NFD'), one, 'anybody')).toBe(true);
  expect(await other.verify('pässword 2', one, 'anybody')).toBe(false);
  expect(await other.verify('pässword 1\0', one, 'anybody')).toBe(false);
});

test('what is no hash, or would cost too much, is known by no password', async () => {
  const passwords = createPasswords(CHEAP);
  const hash = await passwords.hash('x');
  const bad = ['', 'x', hash.replace('ln=10', 'ln=30'), hash.replace('r=8', 'r=64'), `${hash}x`];
  expect(bad.map(isPasswordHash)).toEqual(bad.map(() => false));
  for (const text of bad) expect(await passwords.verify('x', text, 'anybody')).toBe(false);
  expect(await passwords.verify('x', null, 'anybody')).toBe(false);
});

test('the cost that is used by default can be paid', async () => {
  const passwords = createPasswords();
  expect(await passwords.verify('x', await passwords.hash('x'), 'anybody')).toBe(true);
});

test('two are compared at once, a few wait, and more are refused', async () => {
  const passwords = createPasswords(CHEAP);
  const tries = await Promise.allSettled(Array.from({ length: 30 }, () => passwords.verify('x', null, 'anybody')));
  const refused = tries.filter((one) => one.status === 'rejected');
  expect(refused).toHaveLength(8);
  for (const { reason } of refused) expect(reason).toBeInstanceOf(PasswordsBusyError);
  expect(await passwords.verify('x', null, 'anybody')).toBe(false);
});

test('who is known waits in a line of their own, which goes first', async () => {
  const passwords = createPasswords(CHEAP);
  const over: string[] = [];
  const verify = (line: 'known' | 'anybody') => passwords.verify('x', null, line).then(() => void over.push(line));
  const crowd = Array.from({ length: 22 }, () => verify('anybody'));
  await expect(verify('anybody')).rejects.toThrow(PasswordsBusyError);
  await Promise.all([verify('known'), ...crowd]);
  expect(over.indexOf('known')).toBeLessThan(10);
  const known = await Promise.allSettled(Array.from({ length: 30 }, () => verify('known')));
  expect(known.filter(({ status }) => status === 'rejected')).toHaveLength(8);
});
