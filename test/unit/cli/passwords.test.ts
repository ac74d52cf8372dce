import { beforeEach, expect, test } from 'vitest';
import { loginDigest, loginsIn } from '#infra/rights/logins.ts';
import { passwordsChecks } from '#services/cli/doctor/settings_checks.ts';
import { expectDone, installation, type Shop } from './harness.ts';

let shop: Shop;
let asked: unknown[][];

beforeEach(async () => {
  shop = await installation();
  asked = [];
  const note =
    (name: string) =>
    async (...words: unknown[]): Promise<string[]> => {
      asked.push([name, ...words]);
      return ['done'];
    };
  shop.passwords = { rotateHere: note('here'), rotateIn: note('in'), finishIn: note('finish') };
});

test.each([
  ['password rotate redis', ['here', 'redis']],
  ['password rotate kafka --environment /etc/svc', ['in', 'kafka', '/etc/svc']],
  ['password finish redis --environment /etc/svc --force', ['finish', 'redis', '/etc/svc', null]],
  [
    'password finish redis --environment e --metrics http://a --metrics http://b',
    ['finish', 'redis', 'e', ['http://a', 'http://b']],
  ],
])('%s', async (words, wanted) => {
  expect(await expectDone(shop.svc(words))).toBe('done\n');
  expect(asked).toEqual([wanted]);
});

test.each([
  ['password rotate registry', 'part_unknown'],
  ['password finish redis --metrics http://a', 'flag_missing'],
  ['password finish redis --environment e', 'metrics_missing'],
])('%s is refused: %s', async (words, code) => {
  expect(await shop.svc(words)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(code) });
  expect(asked).toEqual([]);
});

test('a login is told by a digest that differs by password, user and part, and holds none of them', () => {
  const parts = { redisUrl: 'redis://svc_edge:its@127.0.0.1', clickhouseUrl: 'http://svc:its@127.0.0.1:1/svc' };
  const logins = loginsIn(parts);
  expect(logins.map(({ part, user }) => [part, user])).toEqual([
    ['redis', 'svc_edge'],
    ['clickhouse', 'svc'],
  ]);
  const digests = [...logins.map(({ digest }) => digest), loginDigest('redis', 'svc_edge', 'other')];
  expect(new Set(digests).size).toBe(3);
  expect(digests.every((digest) => /^[0-9a-f]{4}$/.test(digest))).toBe(true);
  expect(loginsIn({ redisUrl: 'redis://127.0.0.1' })).toEqual([]);
});

test('doctor names users of whom an old password still works, and says nothing where it may not look', () => {
  const [check] = passwordsChecks(
    'redis',
    new Map([
      ['svc_edge', 2],
      ['svc_quota', 1],
    ]),
  );
  expect(check).toMatchObject({
    check: 'redis.passwords',
    state: 'warning',
    says: 'old passwords still work: svc_edge',
  });
  expect(passwordsChecks('redis', new Map([['svc_quota', 1]]))).toMatchObject([{ state: 'ok' }]);
  expect(passwordsChecks('redis', null)).toEqual([]);
});
