import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import { migrate, renewDictionaries } from '#infra/clickhouse/migrate.ts';
import { PERSON_DICTIONARIES, reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { SERVICE_USER } from '#services/local/parts/clickhouse/users.ts';
import { type LocalParts, startParts } from '#services/local/parts/parts.ts';

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

/** Asks both dictionaries, as every query of `events` does. */
async function ask(warehouse: Warehouse): Promise<void> {
  const sql = PERSON_DICTIONARIES.map((name) => `dictGet('${name}', 'actor', toUInt64(1))`).join(', ');
  await warehouse.query({ query: `SELECT ${sql}, (SELECT count() FROM events WHERE person_id = '') AS rows` });
}
