import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ANALYST_TABLES, AnalystSiteError, analystName, analystStatements } from '#infra/clickhouse/analyst.ts';
import { createWarehouse, insertBlock, type Warehouse } from '#infra/clickhouse/client.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { ANALYST_SITE } from '#infra/local/clickhouse/users.ts';
import { type LocalParts, startParts } from '#infra/local/parts.ts';
import { START, storedRow } from './few_rows.ts';

const NOWHERE = '127.0.0.1:1';
const START_MS = 120_000;
let folder: string;
let local: LocalParts;
let service: Warehouse;
let analyst: Warehouse;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'analyst-'));
  local = await startParts({
    dataDir: folder,
    external: { kafkaBrokers: NOWHERE, registryUrl: `http://${NOWHERE}`, redisUrl: `redis://${NOWHERE}` },
    onProgress: () => undefined,
    onPartExit: () => undefined,
  });
  const { clickhouseUrl } = local.addresses;
  service = createWarehouse(clickhouseUrl);
  await migrate(service, clickhouseUrl);
  const passwords = JSON.parse(readFileSync(join(folder, 'clickhouse', 'credentials.json'), 'utf8'));
  const url = new URL(clickhouseUrl);
  url.username = analystName(ANALYST_SITE);
  url.password = passwords[url.username];
  analyst = createWarehouse(url.href);
  await fill();
}, START_MS);

afterAll(async () => {
  await analyst.close();
  await service.close();
  await local.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Two events of the analyst's site and three of another; of each of the other tables a row of either. */
async function fill(): Promise<void> {
  const sites = [ANALYST_SITE, 'other'];
  const events = [0, 1, 2, 3, 4].map((minute) =>
    storedRow('a', 'page_view', minute, { site_id: sites[minute < 2 ? 0 : 1] ?? '' }),
  );
  await insertBlock(service, 'event_rows', 'e', events);
  const of = (row: object): object[] => sites.map((site_id) => ({ site_id, ...row }));
  await insertBlock(service, 'delivery_outcomes', 'd', of({ destination: 'meta', event_id: 'a', attempted_at: START }));
  await insertBlock(service, 'inventory', 'i', of({ page: '/', received_at: START, inventory_id: 'a', position: 0 }));
  await insertBlock(service, 'person_links', 'l', of({ person_id: 'a', target: 'b', first_seen: START, version: 1 }));
}

async function ask(as: Warehouse, query: string): Promise<Record<string, unknown>[]> {
  return (await as.query({ query, format: 'JSONEachRow' })).json<Record<string, unknown>>();
}

test.for(ANALYST_TABLES)('an analyst sees the rows of its site only: %s', async (table) => {
  const query = `SELECT DISTINCT site_id FROM ${table} ORDER BY site_id`;
  expect(await ask(service, query)).toEqual([{ site_id: 'other' }, { site_id: ANALYST_SITE }]);
  expect(await ask(analyst, query)).toEqual([{ site_id: ANALYST_SITE }]);
});

test('an analyst sees the rows of its site whole', async () => {
  const query = 'SELECT count() AS events, uniqExact(person_id) AS people FROM events';
  expect(await ask(analyst, query)).toEqual([{ events: 2, people: 1 }]);
});

test.for([
  ['INSERT INTO event_rows (site_id) VALUES (1)', /ACCESS_DENIED|READONLY|Not enough privileges|readonly/],
  ['ALTER TABLE event_rows DELETE WHERE 1', /Not enough privileges|readonly/],
  ['DROP TABLE event_rows', /Not enough privileges|readonly/],
  ['TRUNCATE TABLE events', /Not enough privileges|readonly/],
  ['CREATE TABLE mine (a Int8) ENGINE = Memory', /Not enough privileges|readonly/],
  ['SYSTEM RELOAD DICTIONARY person_overrides', /Not enough privileges|readonly/],
] as const)('an analyst cannot write: %s', async ([query, refusal]) => {
  await expect(analyst.command({ query })).rejects.toThrow(refusal);
});

test.for([
  ['SELECT * FROM quota_usage', /Not enough privileges/],
  ['SELECT * FROM schema_migrations', /Not enough privileges/],
  ["SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')", /Not enough privileges/],
  ["SELECT * FROM file('/etc/passwd', 'CSV', 'a String')", /Not enough privileges/],
  ['SELECT 1 SETTINGS max_execution_time = 3600', /readonly/],
  ['SELECT number FROM numbers(2000000)', /max_result_rows|TOO_MANY_ROWS|Limit for result exceeded/],
  ['SELECT groupArray(number) FROM numbers(1000000000)', /memory limit exceeded|MEMORY_LIMIT|Query memory/i],
] as const)('an analyst stays within its limits: %s', async ([query, refusal]) => {
  // Once rows are under way the client may read a cut error; FORMAT Null sends none before the answer.
  await expect(analyst.command({ query: `${query} FORMAT Null` })).rejects.toThrow(refusal);
});

test("the statements of a site's analyst are SQL, though this server cannot make users", async () => {
  for (const statement of analystStatements('my-shop', 'svc', 'a'.repeat(64))) {
    const rows = await service.query({ query: `EXPLAIN AST ${statement}`, format: 'TabSeparated' });
    expect(await rows.text(), statement).not.toBe('');
  }
});

test('what is no id of a site has no analyst', () => {
  for (const site of ['', "x' OR 1", 'a b', 'A']) {
    expect(() => analystStatements(site, 'svc', '')).toThrow(AnalystSiteError);
  }
});
