import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  ANALYST_TABLES,
  SQL_API_USER,
  SQL_SETTINGS,
  sqlRightsStatements,
} from '#infra/clickhouse/analysts/analyst_rights.ts';
import { createWarehouse, insertBlock, type Warehouse } from '#infra/clickhouse/client.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { newQueryId } from '#infra/clickhouse/queries/running_queries.ts';
import { createSqlRunner, type RunSql } from '#infra/clickhouse/queries/sql_query.ts';
import { localSqlUrl, makeLocalAnalyst } from '#services/local/parts/clickhouse/clickhouse.ts';
import { useInstallation } from '#test/harness/installation.ts';
import { until } from '#test/harness/until.ts';
import { type Control, control } from '#test/unit/control/harness.ts';
import { START, storedRow } from './few_rows.ts';

const START_MS = 300_000;
const OTHERS = 12_347;
/** In every text of the other site. */
const FOREIGN = 'zweitladen';
const installation = useInstallation('database');
let service: Warehouse;
let asker: { ask: RunSql; close(): Promise<void> };
let direct: Warehouse;
let api: Control;

beforeAll(async () => {
  const { addresses, dataDir } = installation();
  const { clickhouseUrl } = addresses;
  service = createWarehouse(clickhouseUrl);
  await migrate(service, clickhouseUrl);
  for (let times = 0; times < 2; times++) await makeLocalAnalyst(clickhouseUrl);
  const url = localSqlUrl(dataDir, clickhouseUrl);
  asker = createSqlRunner(url);
  direct = createWarehouse(url);
  api = await control('tester', undefined, undefined, (...asked) => asker.ask(...asked));
  await api.call('POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 1000 } });
  for (const site_id of ['shop', FOREIGN]) {
    await api.call('POST', 'sites', { body: { site_id, account_id: 'acme' } });
  }
  await fill();
}, START_MS);

afterAll(async () => {
  await asker.close();
  await direct.close();
  await service.close();
});

/** Two events of the shop and many of another site; of each of the other tables a row of either. */
async function fill(): Promise<void> {
  const events = [0, 1].map((minute) => storedRow('a', 'page_view', minute, { site_id: 'shop' }));
  const texts = { site_id: FOREIGN, event: `${FOREIGN}_event`, order_id: `${FOREIGN}_order` };
  const others = Array.from({ length: OTHERS }, (_, minute) => storedRow(FOREIGN, 'e', minute, texts));
  await insertBlock(service, 'event_rows', 'e', [...events, ...others]);
  const of = (row: object): object[] => ['shop', FOREIGN].map((site_id) => ({ site_id, ...row }));
  await insertBlock(service, 'delivery_outcomes', 'd', of({ destination: 'meta', event_id: 'a', attempted_at: START }));
  await insertBlock(service, 'inventory', 'i', of({ page: '/', received_at: START, inventory_id: 'a', position: 0 }));
  await service.command({ query: 'ALTER TABLE duplicates REMOVE TTL' });
  await insertBlock(service, 'duplicates', 'c', of({ event_id: 'a', received_at: START, times: 1 }));
  await insertBlock(service, 'person_links', 'l', of({ person_id: 'a', target: 'b', first_seen: START, version: 1 }));
}

const ask = (sql: string, { site = 'shop', format = '' } = {}) =>
  api.call('POST', `/v1/query/${site}/sql${format && `?format=${format}`}`, { body: { sql } });

const SESSIONS = "sessions_between(begin = '2026-01-01', end = now())";

test.for([...ANALYST_TABLES, SESSIONS])('each site sees its own rows only: %s', async (table) => {
  const sql = `SELECT DISTINCT site_id FROM ${table}`;
  for (const site of ['shop', FOREIGN]) expect((await ask(sql, { site })).body.rows).toEqual([[site]]);
});

test('an answer says its columns with their types, and its rows', async () => {
  const sql = 'SELECT count() AS events, any(event) AS name, toDecimal64(1.5, 2) AS exact, 1 / 0 AS none FROM events';
  const { status, body } = await ask(`-- how many\n${sql};`);
  expect([status, body.columns.map(({ name }: { name: string }) => name)]).toEqual([
    200,
    ['events', 'name', 'exact', 'none'],
  ]);
  expect(body.rows).toEqual([[2, 'page_view', '1.5', null]]);
});

test('an answer is CSV without formulas, and Parquet with the types of its columns', async () => {
  const csv = await ask("SELECT '=1+1' AS a, [1, 2] AS b", { format: 'csv' });
  expect([csv.headers['content-type'], csv.text]).toEqual([
    'text/csv; charset=utf-8; header=present',
    'a,b\r\n\'=1+1,"[1,2]"\r\n',
  ]);
  const sql = "SELECT toDate('2026-10-01') AS day, count() AS events FROM events";
  const parquet = await api.bytes('POST', '/v1/query/shop/sql?format=parquet', { sql });
  const back = await service.query({
    query: `SELECT toTypeName(day) AS type, events FROM format(Parquet, unhex('${parquet.bytes.toString('hex')}'))`,
    format: 'JSONEachRow',
  });
  expect(await back.json()).toEqual([{ type: expect.stringContaining('Date'), events: 2 }]);
});

test.for([
  ['SELECT nosuch FROM events', 'is refused by ClickHouse: UNKNOWN_IDENTIFIER (nosuch)'],
  ['SELECT 1 FRM x y', 'is refused by ClickHouse: SYNTAX_ERROR at character 14'],
  ['SELECT * FROM svc.event_rows', 'is refused by ClickHouse: ACCESS_DENIED'],
  ['SELECT toInt64(event) FROM events', 'is refused by ClickHouse: CANNOT_PARSE_TEXT'],
  ['SELECT {p:String}', 'is refused by ClickHouse: UNKNOWN_QUERY_PARAMETER (p)'],
] as const)('what ClickHouse refuses is a 400 that tells nothing of the server: %s', async ([sql, message]) => {
  const { status, body } = await ask(sql);
  expect([status, body.error.code]).toEqual([400, 'sql_refused']);
  expect(body.problems).toEqual([{ code: 'sql_refused', field: 'sql', message }]);
});

test.for([
  ['SELECT 1 SETTINGS max_threads = 1', 'READONLY'],
  ['SELECT * FROM (SELECT 1 SETTINGS max_threads = 1)', 'takes no SETTINGS'],
  ['WITH a AS (SELECT count() FROM events SETTINGS use_query_cache = 1) SELECT * FROM a', 'takes no SETTINGS'],
  ['SELECT (SELECT 1 /**/ SETTINGS/**/readonly = 0)', 'takes no SETTINGS'],
  ['SELECT 1 FORMAT Null', 'is not one SELECT'],
  ["SELECT 1 INTO OUTFILE '/tmp/x'", 'is not one SELECT'],
  ['SELECT 1; SELECT 2', 'SYNTAX_ERROR'],
  ['SELECT 1 /*', 'SYNTAX_ERROR'],
  ['SHOW TABLES', 'is not one SELECT'],
  ['SET readonly = 0', 'is not one SELECT'],
  ['SYSTEM FLUSH LOGS', 'is not one SELECT'],
  ['KILL QUERY WHERE 1', 'is not one SELECT'],
  ['DROP TABLE events', 'is not one SELECT'],
  ['EXPLAIN indexes = 1 SELECT * FROM events', 'is not one SELECT'],
  ['SELECT * FROM (EXPLAIN indexes = 1 SELECT * FROM events)', 'takes no table function viewExplain'],
  ["INSERT INTO FUNCTION null('a Int8') SELECT 1", 'is not one SELECT'],
  ["SELECT file('/etc/passwd')", 'takes no function file'],
  ["SELECT `fi\\x6ce`('/etc/passwd')", 'takes no function file'],
  ["SELECT FILE/**/('/etc/passwd')", 'takes no function FILE'],
  ['SELECT * APPLY(file) FROM events', 'takes no APPLY'],
  ["SELECT arrayMap(x -> file(x), ['/etc/passwd'])", 'takes no function file'],
  ["SELECT arrayMap(file, ['/etc/passwd'])", 'takes no function file'],
  ["SELECT arrayMap(`fi\\x6ce`, ['/etc/passwd'])", 'takes no function file'],
  ["SELECT arrayFold((acc, x) -> acc, arrayMap(FILE, ['/etc/passwd']), '')", 'takes no function FILE'],
  ["WITH file AS f SELECT arrayMap(f, ['/etc/passwd'])", 'takes no function file'],
  ["SELECT mapApply(sleepEachRow, map('a', 3))", 'takes no function sleepEachRow'],
  ["SELECT arrayMap(getServerSetting, ['max_connections'])", 'takes no function getServerSetting'],
  ["SELECT 1 IN merge('svc', '.*')", 'takes no function merge'],
  ["SELECT dictGet('svc.merged_persons_base', 'actor', toUInt64(1))", 'takes no function dictGet'],
  ["SELECT joinGet('svc.event_rows', 'event', 'a')", 'takes no function joinGet'],
  ['SELECT hostName(), version()', 'takes no function hostName'],
  ['SELECT sleep(3)', 'takes no function sleep'],
  ['SELECT * FROM system.processes', 'takes no table system.processes'],
  ['SELECT * FROM `sys\\x74em`.processes', 'takes no table system.processes'],
  ["SELECT 'x' IN system.users", 'takes no table system.users'],
  ['SELECT * FROM information_schema.tables', 'takes no table information_schema.tables'],
  ["SELECT * FROM eval('SELECT 1')", 'takes no table function eval'],
] as const)('refused, whatever it would have read: %s', async ([sql, message]) => {
  const { status, body } = await ask(sql);
  expect([status, body.error.code, body.problems[0].message]).toEqual([
    400,
    'sql_refused',
    expect.stringContaining(message),
  ]);
});

test.for([
  'SELECT number FROM numbers(200000)',
  "SELECT repeat('x', 1000000) FROM numbers(40)",
  "SELECT repeat('x', 1000000) FROM numbers(100000)",
  'SELECT length(groupArray(number)) FROM numbers(2000000000)',
  `SELECT ${'('.repeat(5000)}1${')'.repeat(5000)}`,
] as const)('what is too much is refused, and ClickHouse goes on: %s', { timeout: START_MS }, async (sql) => {
  const { status } = await ask(sql);
  expect([400, 422]).toContain(status);
  expect((await ask('SELECT 1')).body.rows).toEqual([[1]]);
});

test('what throws by itself is refused as SQL, and is not too heavy', async () => {
  const { status, body } = await ask("SELECT throwIf(number = 90000, 'no') FROM numbers(90001)");
  expect([status, body.error.code]).toEqual([400, 'sql_refused']);
});

test('whole numbers of 64 bits are numbers where they are exact, and texts of all their digits where not', async () => {
  const sql =
    'SELECT toUInt64(5) AS a, toInt64(-9007199254740993) AS b, [toNullable(toUInt64(1)), NULL] AS c, toUInt256(7) AS d, (toInt64(1), 1) AS e, toUInt64(6)::SimpleAggregateFunction(sum, UInt64) AS f';
  const row = [5, '-9007199254740993', [1, null], 7, ['1', 1], 6];
  expect((await ask(sql)).body.rows).toEqual([row]);
});

test('JSON and CSV have 4 MiB, Parquet more', { timeout: START_MS }, async () => {
  const sql = "SELECT repeat('x', 1000000) FROM numbers(5)";
  for (const format of ['json', 'csv']) {
    const { status, body, text } = await ask(sql, { format });
    expect([status, body?.error?.code ?? text]).toEqual([422, 'query_too_heavy']);
  }
  const { contentType } = await api.bytes('POST', '/v1/query/shop/sql?format=parquet', { sql });
  expect(contentType).toContain('parquet');
});

test('a recursion without an end is stopped', { timeout: START_MS }, async () => {
  const { body } = await ask('WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT a + 1 FROM r) SELECT sum(a) FROM r');
  expect(body.error.code).toBe('query_too_heavy');
});

test('a site has so many queries at once, and another is not held up by them', async () => {
  const slow = 'SELECT count() FROM numbers(200000) a, numbers(3000000) b';
  const running = [ask(slow), ask(slow)];
  let ended = 0;
  for (const one of running) void one.then(() => ended++);
  const third = await ask('SELECT 1');
  expect([third.status, third.body.error.code]).toEqual([429, 'query_busy']);
  expect((await ask('SELECT 1', { site: FOREIGN })).status).toBe(200);
  await until('both to be ended', async () => {
    await service.command({ query: `KILL QUERY WHERE user = '${SQL_API_USER}' AND query LIKE '${slow}%' SYNC` });
    return ended === running.length;
  });
  expect((await Promise.all(running)).map(({ status }) => status)).not.toContain(200);
  expect((await ask('SELECT 1')).status).toBe(200);
});

test('a query has as long as its user has, which it cannot change', async () => {
  expect(await asUser("SELECT getSetting('max_execution_time') AS seconds")).toContain(
    `${SQL_SETTINGS.max_execution_time}`,
  );
  expect(await asUser('SELECT 1 SETTINGS max_execution_time = 0')).not.toContain('"1":1');
});

test('a service without the user says so, and an unknown site is unknown', async () => {
  const bare = await control('tester');
  await bare.call('POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 1000 } });
  await bare.call('POST', 'sites', { body: { site_id: 'shop', account_id: 'acme' } });
  const body = { sql: 'SELECT 1' };
  expect((await bare.call('POST', '/v1/query/shop/sql', { body })).body.error.code).toBe('sql_not_set_up');
  expect((await bare.call('POST', '/v1/query/other/sql', { body })).body.error.code).toBe('site_unknown');
});

/** What the user answers without our own check of the statement: its rights alone. */
async function asUser(query: string): Promise<string> {
  try {
    const rows = await direct.query({
      query,
      query_id: newQueryId({ siteId: 'shop', kind: 'sql', askedBy: 'tester' }),
      format: 'JSONEachRow',
    });
    return await rows.text();
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
}

/** A text of the other site, but for what the query itself said, or how many events it has. */
const tells = (answer: string): boolean =>
  new RegExp(`${FOREIGN}|\\b(${OTHERS}|${OTHERS + 2})\\b`).test(answer.replaceAll(/\\?'zweitladen\\?'/g, ''));

test('no system table tells the user of other sites, by its rights alone', { timeout: START_MS }, async () => {
  const query = "SELECT name FROM system.tables WHERE database = 'system'";
  const tables = await (await service.query({ query, format: 'JSONEachRow' })).json<{ name: string }>();
  expect(tables.length).toBeGreaterThan(50);
  for (const { name } of tables) {
    const answer = await asUser(`SELECT * FROM system.\`${name}\` LIMIT 10000`);
    expect(tells(answer), name).toBe(false);
  }
  expect(await asUser('SELECT * FROM system.processes')).toContain('Not enough privileges');
});

test.for([
  'SELECT count() FROM svc.event_rows',
  "SELECT count() FROM merge('svc', 'event_rows')",
  "SELECT count() FROM merge('sql_views', 'event')",
  "SELECT count() FROM remote('127.0.0.1', svc.event_rows)",
  "SELECT count() FROM cluster('default', 'svc', 'event_rows')",
  'SELECT count() FROM loop(svc.event_rows)',
  "SELECT * FROM mergeTreeIndex('svc', 'event_rows')",
  "SELECT count() FROM event_rows WHERE site_id = 'zweitladen'",
  "SELECT throwIf(site_id != 'shop') FROM event_rows",
  "SELECT count() FROM (SELECT * FROM events SETTINGS additional_table_filters = {'svc.event_rows': '1'})",
  "SELECT dictGet('svc.merged_persons_base', 'actor', toUInt64(1))",
  "SELECT initialQueryID() = '' FROM (SELECT * FROM event_rows SETTINGS readonly = 0)",
])('its rights alone keep other sites away: %s', async (query) => {
  expect(tells(await asUser(query))).toBe(false);
});

test('the statements of the user are SQL, though this server cannot make users', async () => {
  for (const statement of sqlRightsStatements('svc', 'a'.repeat(64))) {
    const rows = await service.query({ query: `EXPLAIN AST ${statement}`, format: 'TabSeparated' });
    expect(await rows.text(), statement).not.toBe('');
  }
  expect(sqlRightsStatements('svc', '').join(';')).toContain(SQL_API_USER);
});
