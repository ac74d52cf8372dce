import { hash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import { migrate, renewDictionaries } from '#infra/clickhouse/migrate.ts';
import { PERSON_DICTIONARIES, reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { asLogin } from '#infra/rights/logins.ts';
import { planClickhouse } from '#services/local/parts/clickhouse/clickhouse.ts';
import {
  credentialsPath,
  LOCAL_USERS,
  type Passwords,
  readPasswords,
  renderUsers,
  SERVICE_USER,
  type UserPlan,
} from '#services/local/parts/clickhouse/users.ts';
import { choosePorts, LocalPart } from '#services/local/parts/part.ts';
import { type LocalParts, startParts } from '#services/local/parts/parts.ts';
import { type Command, startCommand } from '#test/harness/command.ts';
import { until } from '#test/harness/until.ts';
import { recordAccess } from './access_recorder.ts';

const TEST_MS = 240_000;
const ELSEWHERE = {
  kafkaBrokers: '127.0.0.1:1',
  registryUrl: 'http://127.0.0.1:1',
  redisUrl: 'redis://127.0.0.1:1',
};

test('after the password was changed, provisioning has the dictionaries read with the new one', {
  timeout: TEST_MS,
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'rotated-'));
  const begin = (): Promise<LocalParts> =>
    startParts({ dataDir, external: ELSEWHERE, onProgress: () => undefined, onPartExit: () => undefined });
  let parts = await begin();
  onTestFinished(async () => {
    await parts.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const before = createWarehouse(parts.addresses.clickhouseUrl);
  await migrate(before, parts.addresses.clickhouseUrl);
  expect(await renewDictionaries(before, parts.addresses.clickhouseUrl)).toEqual(PERSON_DICTIONARIES);
  expect(await renewDictionaries(before, parts.addresses.clickhouseUrl)).toEqual([]);
  await ask(before);
  await before.close();
  await parts.stop();

  const file = join(dataDir, 'clickhouse', 'credentials.json');
  const passwords = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...passwords, [SERVICE_USER]: 'another-one' }));
  parts = await begin();
  const after = createWarehouse(parts.addresses.clickhouseUrl);
  onTestFinished(() => after.close());
  await expect(ask(after)).rejects.toThrow(/./);
  expect(await renewDictionaries(after, parts.addresses.clickhouseUrl)).toEqual(PERSON_DICTIONARIES);
  await ask(after);
  await reloadPersons(after);
});

/** Manages users, of a server that has no place to store them in. */
const MANAGER: UserPlan = {
  name: 'manager',
  grants: ['ALTER USER ON *.*', 'SHOW USERS ON *.*', 'SELECT ON system.*', 'SHOW TABLES ON svc.*'],
};
const ROTATED = ['svc', 'svc_warehouse'];

test('svc password rotate and finish: statements that the server takes, files, and dictionaries', {
  timeout: TEST_MS,
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'rotated-'));
  const folder = join(dataDir, 'environment');
  mkdirSync(folder);
  const { clickhouse } = await choosePorts(dataDir, ['clickhouse']);
  const part = new LocalPart(planClickhouse(dataDir, clickhouse ?? 0), () => undefined);
  const passwords = readPasswords(credentialsPath(dataDir, 'clickhouse'));
  passwords[MANAGER.name] = 'manages';
  const startWith = async (those: Passwords, beside: Passwords = {}): Promise<void> => {
    await part.stop();
    writeFileSync(join(dataDir, 'clickhouse', 'users.xml'), renderUsers([...LOCAL_USERS, MANAGER], those, beside));
    await part.start();
  };
  await startWith(passwords);
  const recorder = await recordAccess(part.address);
  onTestFinished(async () => {
    await recorder.close();
    await part.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const before = createWarehouse(part.address);
  await migrate(before, part.address);
  await renewDictionaries(before, part.address);
  await before.close();
  for (const user of ROTATED) {
    const url = asLogin(part.address, user, passwords[user] ?? '');
    writeFileSync(join(folder, `${user}.env`), `# of ${user}\nCLICKHOUSE_URL='${url}'\nLOG_LEVEL=warn\n`);
  }
  const files = (): string[] => ROTATED.map((user) => readFileSync(join(folder, `${user}.env`), 'utf8'));
  const first = files();
  const begin = (verb: string, ...words: string[]): Command =>
    startCommand('services/cli/main.ts', ['password', verb, 'clickhouse', '--environment', folder, ...words], {
      CLICKHOUSE_URL: asLogin(recorder.url, MANAGER.name, 'manages'),
    });
  /** What the server would have done, had it a place to do it in. */
  const remembered = async (change: string): Promise<void> => {
    await until('statements', () => recorder.remembered.length === ROTATED.length);
    const digests = ROTATED.map((user) => hash('sha256', next()[user] ?? ''));
    expect(recorder.remembered.splice(0)).toEqual(
      ROTATED.map((user, at) => `ALTER USER \`${user}\` ${change}IDENTIFIED WITH sha256_hash BY '${digests[at]}'`),
    );
  };
  let plan: Passwords = {};
  const next = (): Passwords => {
    const path = join(folder, 'clickhouse.rotation.json');
    if (existsSync(path)) plan = JSON.parse(readFileSync(path, 'utf8')).passwords;
    return plan;
  };

  const killed = begin('rotate');
  await remembered('ADD ');
  killed.child.kill('SIGKILL');
  await killed.ended;
  expect(files()).toEqual(first);
  expect(await begin('finish', '--force').ended).toMatchObject({
    code: 2,
    output: expect.stringContaining('rotation_unfinished'),
  });
  await startWith(passwords, plan);
  expect(await begin('rotate').ended).toMatchObject({ code: 0 });
  expect(recorder.remembered).toEqual([]);
  expect(files()).toEqual(
    first.map((text, at) => text.replace(passwords[ROTATED[at] ?? ''] ?? '', plan[ROTATED[at] ?? ''] ?? '')),
  );
  expect(await begin('rotate').ended).toMatchObject({
    code: 2,
    output: expect.stringContaining('rotation_unfinished'),
  });

  const finished = begin('finish', '--force');
  expect(await finished.ended).toMatchObject({ code: 0, output: expect.stringContaining('one password each') });
  await remembered('');
  await startWith({ ...passwords, ...plan });
  const after = createWarehouse(asLogin(part.address, 'svc', plan['svc'] ?? ''));
  onTestFinished(() => after.close());
  await reloadPersons(after);
  await ask(after);
});

/** Asks both dictionaries, as every query of `events` does. */
async function ask(warehouse: Warehouse): Promise<void> {
  const sql = PERSON_DICTIONARIES.map((name) => `dictGet('${name}', 'actor', toUInt64(1))`).join(', ');
  await warehouse.query({ query: `SELECT ${sql}, (SELECT count() FROM events WHERE person_id = '') AS rows` });
}
