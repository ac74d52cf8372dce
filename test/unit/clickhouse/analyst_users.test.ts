import { expect, test } from 'vitest';
import { ANALYST_SETTINGS, SQL_SETTINGS, WRITTEN_SQL_SETTINGS } from '#infra/clickhouse/analysts/analyst_rights.ts';
import { createAnalystUsers, makeStatements, revokeStatements } from '#infra/clickhouse/analysts/analyst_users.ts';
import type { Warehouse } from '#infra/clickhouse/client.ts';

const ADA = {
  ...{ analystId: 'ada', siteIds: ['shop'], createdMs: 0, createdBy: "o'neil", passwordSha256: 'a'.repeat(64) },
  expiresMs: Date.UTC(2027, 1, 21, 12, 0, 0, 999),
};

test('the login of an analyst is made last and taken away first', () => {
  const made = makeStatements(ADA, 'svc');
  expect(made.slice(-3)).toEqual([
    expect.stringMatching(
      /^CREATE USER `sql_user_ada` IDENTIFIED WITH sha256_hash BY 'a{64}' VALID UNTIL '2027-02-21T12:00:00Z' DEFAULT DATABASE/,
    ),
    'CREATE QUOTA `sql_user_ada` FOR INTERVAL 1 hour MAX queries = 3000, execution_time = 7200 TO `sql_user_ada`',
    'GRANT SELECT ON `sql_user_ada`.* TO `sql_user_ada`',
  ]);
  expect(revokeStatements('ada', 'svc')[0]).toBe('DROP USER IF EXISTS `sql_user_ada`');
});

test('one without an end has none', () => {
  expect(makeStatements({ ...ADA, expiresMs: null }, 'svc').join('\n')).not.toContain('VALID UNTIL');
});

test('nothing but ids gets into a statement', () => {
  for (const analystId of ["a'b", 'a`b', 'a_b', '']) {
    expect(() => makeStatements({ ...ADA, analystId }, 'svc')).toThrow('an analyst has an id of another shape');
    expect(() => revokeStatements(analystId, 'svc')).toThrow('an analyst has an id of another shape');
  }
  for (const siteIds of [[], ["shop') OR ('' = '"]]) {
    expect(() => makeStatements({ ...ADA, siteIds }, 'svc')).toThrow('an analyst reads sites, by their ids');
  }
  expect(makeStatements(ADA, 'svc').join('\n')).not.toContain("o'neil");
});

test('SQL that comes by the API and by a user of ClickHouse has the same limits, but for how long and how much it may answer', () => {
  for (const settings of [ANALYST_SETTINGS, SQL_SETTINGS]) expect(settings).toMatchObject(WRITTEN_SQL_SETTINGS);
  const own = (settings: object): string[] =>
    Object.keys(settings)
      .filter((name) => !(name in WRITTEN_SQL_SETTINGS) && !name.startsWith('output_format_'))
      .sort();
  expect(own(ANALYST_SETTINGS)).toEqual(own(SQL_SETTINGS));
});

test('whether one is made is decided by those that there are at its turn', async () => {
  const comments = new Map<string, string>();
  const warehouse = {
    query: async () => ({ json: async () => [...comments].map(([user, comment]) => ({ user, comment })) }),
    command: async ({ query }: { query: string }) => {
      const [, user, comment] =
        /^CREATE DATABASE \S*?`(\w+)` COMMENT '(.*)'$/.exec(query.replace('IF NOT EXISTS ', '')) ?? [];
      if (user !== undefined) comments.set(user, comment ?? '');
    },
  } as unknown as Warehouse;
  const users = createAnalystUsers(warehouse, 'svc');
  const make = (analystId: string) => users.make({ ...ADA, analystId }, (known) => (known.length > 0 ? 'full' : null));
  const [first, second] = await Promise.all([make('ada'), make('bo')]);
  expect(first).toMatchObject({ kind: 'made', analyst: { analystId: 'ada' } });
  expect(second).toEqual({ kind: 'refused', refusal: 'full' });
});
