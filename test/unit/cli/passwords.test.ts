import { beforeEach, expect, test } from 'vitest';
import { loginDigest, loginsIn } from '#infra/rights/logins.ts';
import { passwordsChecks } from '#services/cli/doctor/settings_checks.ts';
import { expectDone, installation, type Shop } from './harness.ts';

let shop: Shop;
let asked: unknown[][];
let kept: string[];

beforeEach(async () => {
  shop = await installation();
  asked = [];
  kept = [];
  const note =
    (name: string) =>
    async (...words: unknown[]): Promise<string[]> => {
      asked.push([name, ...words]);
      return ['done'];
    };
  shop.passwords = {
    rotateHere: note('here'),
    rotateIn: note('in'),
    finishIn: async (...words) => ({ says: await note('finish')(...words), kept }),
  };
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

test('it is no success where users keep their old passwords', async () => {
  kept = ['svc_edge'];
  const { exitCode, stdout } = await shop.svc('password finish redis --environment e --metrics http://a --json');
  expect([exitCode, JSON.parse(stdout)]).toEqual([1, { says: ['done'], kept }]);
});

test('a login is told by a digest that differs by password, user and part, and holds none of them', () => {
  const parts = { redisUrl: 'redis://svc_edge:its@127.0.0.1', clickhouseUrl: 'http://svc:its@127.0.0.1:1/svc' };
  const logins = loginsIn({ parts });
  expect(logins.map(({ part, user }) => [part, user])).toEqual([
    ['redis', 'svc_edge'],
    ['clickhouse', 'svc'],
  ]);
  const digests = [...logins.map(({ digest }) => digest), loginDigest('redis', 'svc_edge', 'other')];
  expect(new Set(digests).size).toBe(3);
  expect(digests.every((digest) => /^[0-9a-f]{4}$/.test(digest))).toBe(true);
  expect(loginsIn({ parts: { redisUrl: 'redis://127.0.0.1' } })).toEqual([]);
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
  expect(passwordsChecks('redis', new Map())).toEqual([]);
});

test('further logins of a process are told: of SQL, of analysts, and of a second Redis that is the first', () => {
  const told = (redisSecondaryUrl: string) =>
    loginsIn({
      parts: {
        redisUrl: 'redis://svc:one@127.0.0.1',
        redisSecondaryUrl,
        clickhouseUrl: 'http://svc:its@127.0.0.1:1/svc',
      },
      sqlUrl: 'http://svc_sql:its@127.0.0.1:1',
      analystsUrl: 'http://svc_analysts:its@127.0.0.1:1',
    }).map(({ part, user, digest }) => [part, user, digest]);
  const first = ['redis', 'svc', loginDigest('redis', 'svc', 'one')];
  const ofClickhouse = ['svc', 'svc_sql', 'svc_analysts'].map((user) => [
    'clickhouse',
    user,
    loginDigest('clickhouse', user, 'its'),
  ]);
  const second = ['redis', 'svc', loginDigest('redis', 'svc', 'two')];
  expect(told('redis://svc:two@127.0.0.1:6379')).toEqual([first, second, ...ofClickhouse]);
  expect(told('redis://svc:two@127.0.0.2')).toEqual([first, ...ofClickhouse]);
});
