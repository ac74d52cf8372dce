import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  ANALYST_MANAGER,
  type AnalystUsers,
  createAnalystUsers,
  makeStatements,
  managerGrants,
} from '#infra/clickhouse/analysts/analyst_users.ts';
import { createWarehouse, insertBlock, type Warehouse } from '#infra/clickhouse/client.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { planClickhouse } from '#services/local/parts/clickhouse/clickhouse.ts';
import {
  credentialsOf,
  DATABASE,
  LOCAL_USERS,
  renderUsers,
  type UserPlan,
} from '#services/local/parts/clickhouse/users.ts';
import { choosePorts, LocalPart } from '#services/local/parts/part.ts';
import { storedRow } from '#test/integration/query/few_rows.ts';
import { type AccessRecorder, recordAccess, usersOf } from './access_recorder.ts';

const START_MS = 120_000;
const MANAGER: UserPlan = { name: ANALYST_MANAGER, grants: managerGrants(DATABASE) };
const PASSWORD = 'of-ada-alone';
const ADA = {
  ...{ analystId: 'ada', siteIds: ['shop', 'blog'], createdMs: 1_700_000_000_000, createdBy: "user:o'neil" },
  expiresMs: 4_000_000_000_000,
};
let folder: string;
let part: LocalPart;
let service: Warehouse;
let recorder: AccessRecorder;
let access: Warehouse;
let analysts: AnalystUsers;
let passwords: Record<string, string>;

const addressOf = (user: string, base = part.address): string => {
  const url = new URL(base);
  Object.assign(url, { username: user, password: passwords[user] ?? '' });
  return url.href;
};

/** Starts the server with these users beside its own. */
async function startWith(users: readonly UserPlan[]): Promise<void> {
  await part.stop();
  writeFileSync(join(folder, 'clickhouse', 'users.xml'), renderUsers([...LOCAL_USERS, MANAGER, ...users], passwords));
  await part.start();
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'analyst-users-'));
  const { clickhouse } = await choosePorts(folder, ['clickhouse']);
  part = new LocalPart(planClickhouse(folder, clickhouse ?? 0), () => undefined);
  passwords = credentialsOf(
    join(folder, 'clickhouse', 'credentials.json'),
    LOCAL_USERS.map(({ name }) => name),
  );
  passwords = {
    ...passwords,
    [ANALYST_MANAGER]: 'manages',
    sql_user_ada: PASSWORD,
    sql_user_ada_reader: 'nobody-knows',
  };
  await startWith([]);
  service = createWarehouse(part.address);
  await migrate(service, part.address);
  const rows = ['shop', 'blog', 'other'].map((site_id) => storedRow('a', 'page_view', 0, { site_id }));
  await insertBlock(service, 'event_rows', 'e', rows);
  recorder = await recordAccess(part.address);
  access = createWarehouse(addressOf(ANALYST_MANAGER, recorder.url));
  analysts = createAnalystUsers(access, DATABASE);
}, START_MS);

afterAll(async () => {
  await access.close();
  await service.close();
  await recorder.close();
  await part.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function asAda<T>(query: string): Promise<T[]> {
  const ada = createWarehouse(addressOf('sql_user_ada').replace(`/${DATABASE}`, '/sql_user_ada'));
  try {
    return await (await ada.query({ query, format: 'JSONEachRow' })).json<T>();
  } finally {
    await ada.close();
  }
}

const SITES = 'SELECT DISTINCT site_id FROM events ORDER BY site_id';

test('an analyst reads its sites and no others, is listed, and is refused once revoked', {
  timeout: START_MS,
}, async () => {
  expect(await analysts.list()).toEqual([]);
  await expect(asAda(SITES)).rejects.toMatchObject({ code: '516' });
  const made = { ...ADA, user: 'sql_user_ada' };
  const making = analysts.make({ ...ADA, passwordSha256: hash('sha256', PASSWORD) }, () => null);
  expect(await making).toEqual({ kind: 'made', analyst: made });
  const { users, others } = usersOf(recorder.remembered.splice(0));
  expect(users.map(({ name }) => name)).toEqual(['sql_user_ada_reader', 'sql_user_ada']);
  await startWith(users);
  for (const query of others) await access.command({ query });
  expect(recorder.remembered).toEqual([]);

  expect(await asAda(SITES)).toEqual([{ site_id: 'blog' }, { site_id: 'shop' }]);
  expect(await asAda('SELECT count() AS n FROM event_rows')).toEqual([{ n: 2 }]);
  for (const query of [
    `SELECT * FROM ${DATABASE}.events`,
    'DROP VIEW events',
    'SELECT 1 SETTINGS max_execution_time = 0',
  ]) {
    await expect(asAda(query), query).rejects.toMatchObject({ code: expect.stringMatching(/^(497|164)$/) });
  }
  expect(await analysts.list()).toEqual([made]);
  expect(await analysts.make({ ...ADA, passwordSha256: '' }, () => null)).toEqual({ kind: 'exists' });

  await analysts.revoke('ada');
  // The policies of the server's own file have other names, so that there is none to drop.
  expect(recorder.remembered).toEqual([
    'DROP USER IF EXISTS `sql_user_ada`',
    'DROP USER IF EXISTS `sql_user_ada_reader`',
  ]);
  await startWith([]);
  await expect(asAda(SITES)).rejects.toMatchObject({ code: '516' });
  expect(await analysts.list()).toEqual([]);
  const left = await service.query({ query: "SELECT name FROM system.databases WHERE name LIKE 'sql_user%'" });
  expect((await left.json()).data).toEqual([]);
});

test('the end of logins is a time that the server reads, before it has no place to store the user in', async () => {
  const making = (until: string) =>
    access.command({ query: `CREATE USER sql_user_bo IDENTIFIED WITH sha256_hash BY '${'a'.repeat(64)}'${until}` });
  const [made = ''] = makeStatements({ ...ADA, passwordSha256: 'a'.repeat(64) }, DATABASE).filter((one) =>
    one.includes('VALID'),
  );
  const [until = ''] = / VALID UNTIL '[^']+'/.exec(made) ?? [];
  expect(until).not.toBe('');
  recorder.remembered.length = 0;
  await making(until);
  expect(recorder.remembered).toHaveLength(1);
  await expect(making(" VALID UNTIL 'some day'")).rejects.toMatchObject({ type: expect.stringMatching(/^CANNOT_/) });
});

test('whoever may not make users is told so, and a server that is away is', { timeout: START_MS }, async () => {
  const powerless = createWarehouse(addressOf(ANALYST_MANAGER).replace(':manages@', ':wrong@'));
  await expect(createAnalystUsers(powerless, DATABASE).list()).rejects.toMatchObject({ code: 'analysts_not_set_up' });
  await powerless.close();
  await part.stop();
  const silent = createWarehouse(addressOf(ANALYST_MANAGER));
  await expect(createAnalystUsers(silent, DATABASE).list()).rejects.toMatchObject({ code: 'warehouse_unavailable' });
  await silent.close();
});
