import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  ANALYST_SETTINGS,
  ANALYST_SITE,
  ANALYST_TABLES,
  AnalystSiteError,
  analystName,
  analystStatements,
  readerName,
} from '#infra/clickhouse/analysts/analyst_rights.ts';
import { createWarehouse, insertBlock, type Warehouse } from '#infra/clickhouse/client.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { makeLocalAnalyst } from '#services/local/parts/clickhouse/clickhouse.ts';
import { useInstallation } from '#test/harness/installation.ts';
import { START, storedRow } from './few_rows.ts';

const START_MS = 120_000;
/** Enough that no number of the analyst's own is theirs by chance. */
const OTHERS = 12_347;
const installation = useInstallation('database');
let service: Warehouse;
let analyst: Warehouse;

beforeAll(async () => {
  const { addresses, dataDir } = installation();
  const { clickhouseUrl } = addresses;
  service = createWarehouse(clickhouseUrl);
  await migrate(service, clickhouseUrl);
  for (let times = 0; times < 2; times++) await makeLocalAnalyst(clickhouseUrl);
  const passwords = JSON.parse(readFileSync(join(dataDir, 'clickhouse', 'credentials.json'), 'utf8'));
  const url = new URL(clickhouseUrl);
  url.username = analystName(ANALYST_SITE);
  url.password = passwords[url.username];
  url.pathname = url.username;
  analyst = createWarehouse(url.href);
  await fill();
}, START_MS);

afterAll(async () => {
  await analyst.close();
  await service.close();
});

/** In every text of the other site. */
const FOREIGN = 'zweitladen';

/** Two events of the analyst's site and many of another; of each of the other tables a row of either. */
async function fill(): Promise<void> {
  const sites = [ANALYST_SITE, FOREIGN];
  const events = [0, 1].map((minute) => storedRow('a', 'page_view', minute, { site_id: ANALYST_SITE }));
  const texts = { site_id: FOREIGN, event: `${FOREIGN}_event`, order_id: `${FOREIGN}_order` };
  const others = Array.from({ length: OTHERS }, (_, minute) => storedRow(FOREIGN, 'e', minute, texts));
  await insertBlock(service, 'event_rows', 'e', [...events, ...others]);
  const of = (row: object): object[] => sites.map((site_id) => ({ site_id, ...row }));
  await insertBlock(service, 'delivery_outcomes', 'd', of({ destination: 'meta', event_id: 'a', attempted_at: START }));
  await insertBlock(service, 'inventory', 'i', of({ page: '/', received_at: START, inventory_id: 'a', position: 0 }));
  await service.command({ query: 'ALTER TABLE duplicates REMOVE TTL' });
  await insertBlock(service, 'duplicates', 'c', of({ event_id: 'a', received_at: START, times: 1 }));
  await insertBlock(service, 'person_links', 'l', [
    { site_id: ANALYST_SITE, person_id: 'a', target: 'b', first_seen: START, version: 1 },
    { site_id: FOREIGN, person_id: `${FOREIGN}_person`, target: `${FOREIGN}_target`, first_seen: START, version: 1 },
    ...[ANALYST_SITE, FOREIGN].map((site_id) => ({
      ...{ site_id, person_id: basePersonId(site_id, `${site_id}_a`), target: basePersonId(site_id, 'b') },
      ...{ first_seen: START, version: 1 },
    })),
  ]);
  await reloadPersons(service);
}

async function ask(as: Warehouse, query: string): Promise<Record<string, unknown>[]> {
  return (await as.query({ query, format: 'JSONEachRow' })).json<Record<string, unknown>>();
}

const SESSIONS = "sessions_between(begin = '2026-01-01', end = now())";

test.for([...ANALYST_TABLES, SESSIONS])('an analyst sees the rows of its site only: %s', async (table) => {
  const query = `SELECT DISTINCT site_id FROM ${table} ORDER BY site_id`;
  expect(await ask(service, query)).toEqual([{ site_id: ANALYST_SITE }, { site_id: FOREIGN }]);
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
  ['SYSTEM RELOAD DICTIONARY merged_persons_recent', /Not enough privileges|readonly/],
] as const)('an analyst cannot write: %s', async ([query, refusal]) => {
  await expect(analyst.command({ query })).rejects.toThrow(refusal);
});

test.for([
  ['SELECT * FROM svc.quota_usage', /Not enough privileges/],
  ['SELECT * FROM svc.schema_migrations', /Not enough privileges/],
  ["SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')", /Not enough privileges/],
  ["SELECT * FROM file('/etc/passwd', 'CSV', 'a String')", /Not enough privileges/],
  ['SELECT 1 SETTINGS max_execution_time = 3600', /readonly/],
  ['SELECT number FROM numbers(2000000)', /max_result_rows|TOO_MANY_ROWS|Limit for result exceeded/],
  ['SELECT groupArray(number) FROM numbers(1000000000)', /memory limit exceeded|MEMORY_LIMIT|Query memory/i],
] as const)('an analyst stays within its limits: %s', async ([query, refusal]) => {
  // Once rows are under way the client may read a cut error; FORMAT Null sends none before the answer.
  await expect(analyst.command({ query: `${query} FORMAT Null` })).rejects.toThrow(refusal);
});

test('every limit that analysts have holds for the user, as far as it is the server that holds it', async () => {
  const names = Object.keys(ANALYST_SETTINGS);
  const [row] = await ask(
    analyst,
    `SELECT ${names.map((one) => `toString(getSetting('${one}')) AS ${one}`).join(', ')}`,
  );
  const held = names.map((one) => [one, Number(String(row?.[one]).replace('true', '1').replace('false', '0'))]);
  expect(Object.fromEntries(held)).toEqual(ANALYST_SETTINGS);
});

/** What a query answers the analyst, and in what words it is refused. */
async function answerTo(query: string): Promise<{ refused: boolean; text: string }> {
  try {
    const { stream } = await analyst.exec({ query });
    return { refused: false, text: await text(stream) };
  } catch (error) {
    return { refused: true, text: error instanceof Error ? error.message : '' };
  }
}

/** A text of the other site, but for what the query itself said, or how many events it has. */
const tellsOf = (answer: string): boolean =>
  new RegExp(`${FOREIGN}|\\b(${OTHERS}|${OTHERS + 2})\\b`).test(answer.replaceAll(/\\?'zweitladen%?\\?'/g, ''));

const names = async (query: string): Promise<string[]> => (await ask(service, query)).map(({ name }) => String(name));

/** Arguments by which a function may be led to a table, a file, an address or a query. */
const LEADS = [
  "'svc', 'event_rows'",
  'svc, event_rows',
  'svc.event_rows',
  "'svc.merged_persons_base'",
  "'svc', '.*'",
  "'^event_rows$'",
  "'default', 'svc', 'event_rows'",
  "'127.0.0.1', 'svc', 'event_rows'",
  "'127.0.0.1', 'svc', 'event_rows', 'svc', ''",
  "'127.0.0.1:9000', svc.event_rows",
  "'svc', 'event_rows', 'by_person'",
  "'svc', 'event_rows', \"site_id = 'zweitladen'\"",
  "'event_rows'",
  'SELECT * FROM svc.event_rows',
  "'SELECT * FROM svc.event_rows'",
  "(SELECT site_id FROM svc.event_rows ELSE null('x String'))",
  "'/etc/passwd'",
  "'/etc/passwd', 'LineAsString', 'x String'",
  "'http://127.0.0.1:1/', 'CSV', 'x String'",
  "'users.xml', 'LineAsString'",
  "'EXPLAIN', 'indexes = 1', (SELECT * FROM svc.event_rows)",
];
/** Functions that read nothing but what they are given, or tables that the analyst may read. */
const HARMLESS =
  /^(numbers|numbers_mt|zeros|zeros_mt|primes|generate_?series|generateRandom|values|SQLStandardValues|null|format|view|eval|fuzzJSON|fuzzQuery|loop|merge)$/i;

test('no table function leads an analyst to other sites', { timeout: START_MS }, async () => {
  const functions = await names('SELECT name FROM system.table_functions ORDER BY name');
  expect(functions.length).toBeGreaterThan(50);
  for (const name of functions) {
    for (const lead of LEADS) {
      const query = `SELECT * FROM ${name}(${lead}) LIMIT 100`;
      const { refused, text: answer } = await answerTo(query);
      if (!refused) expect(name, `${query}: ${answer.slice(0, 200)}`).toMatch(HARMLESS);
      expect(tellsOf(answer), `${query}: ${answer.slice(0, 300)}`).toBe(false);
    }
  }
});

test('no system table tells an analyst of other sites', { timeout: START_MS }, async () => {
  const tables = await names("SELECT name FROM system.tables WHERE database IN ('system', 'information_schema')");
  for (const schema of ['system', 'information_schema']) {
    for (const table of tables) {
      const query = `SELECT * FROM ${schema}.\`${table}\` LIMIT 10000`;
      const { text: answer } = await answerTo(query);
      expect(tellsOf(answer), query).toBe(false);
    }
  }
  expect(await ask(analyst, 'SELECT DISTINCT database FROM system.tables WHERE total_rows > 0')).toEqual([]);
});

const ASKED = ['events', 'event_rows', 'sessions', 'svc.event_rows', 'svc.events', 'svc.sessions'];
const EXPLAINED = [
  'EXPLAIN ESTIMATE',
  'EXPLAIN indexes = 1',
  'EXPLAIN json = 1, indexes = 1',
  'EXPLAIN actions = 1, projections = 1',
  'EXPLAIN PIPELINE graph = 1',
  'EXPLAIN QUERY TREE',
  'EXPLAIN SYNTAX',
  'EXPLAIN AST',
];

test('no plan tells an analyst of other sites', async () => {
  for (const explain of EXPLAINED) {
    for (const table of ASKED) {
      for (const where of ['', " WHERE site_id = 'zweitladen'", " WHERE event LIKE 'f%'"]) {
        const query = `${explain} SELECT * FROM ${table}${where}`;
        const { text: answer } = await answerTo(query);
        expect(tellsOf(answer), `${query}: ${answer.slice(0, 500)}`).toBe(false);
      }
    }
  }
});

/** Each would tell by an error, by a count or in its message what rows of others hold. */
test.for([
  "SELECT throwIf(site_id != 'shop') FROM event_rows",
  "SELECT count() FROM event_rows WHERE throwIf(event LIKE 'zweitladen%') = 0",
  'SELECT count() FROM event_rows WHERE toInt64(order_id) = 1 OR 1',
  "SELECT count() FROM events WHERE toInt64(if(order_id = '', '0', order_id)) = 0",
  "SELECT count() FROM event_rows PREWHERE throwIf(startsWith(order_id, 'zweitladen')) = 0",
  "SELECT sum(sleepEachRow(0.001)) FROM event_rows WHERE site_id = 'zweitladen'",
])('no condition of an analyst is asked of other sites: %s', async (query) => {
  const { text: answer } = await answerTo(query);
  expect(answer).not.toMatch(/Value passed to|zweitladen_order|FUNCTION_THROW_IF/);
});

test.for([
  "SELECT dictGet('svc.merged_persons_base', 'actor', toUInt64(1))",
  "SELECT dictGetOrDefault('svc.merged_persons_recent', 'actor', toUInt64(1), toUInt64(0))",
  "SELECT dictHas('svc.merged_persons_base', toUInt64(1))",
  'SELECT * FROM svc.merged_persons_base',
  'SELECT * FROM svc.merged_persons',
  "SELECT joinGet('svc.event_rows', 'event', 'a')",
  "SELECT hasColumnInTable('svc', 'event_rows', 'site_id')",
  'SHOW CREATE TABLE svc.event_rows',
  'SHOW TABLES FROM svc',
  'DESCRIBE TABLE svc.event_rows',
  'CHECK TABLE svc.event_rows',
  'SHOW PROCESSLIST',
  'SHOW USERS',
  'SYSTEM FLUSH LOGS',
  'SYSTEM DROP MARK CACHE',
  'KILL QUERY WHERE 1',
  'GRANT SELECT ON svc.event_rows TO analyst_shop',
  'EXECUTE AS reader_shop SELECT 1',
  'CREATE VIEW analyst_shop.mine DEFINER = svc SQL SECURITY DEFINER AS SELECT * FROM svc.event_rows',
  'ALTER TABLE analyst_shop.events MODIFY QUERY SELECT * FROM svc.event_rows',
  'CREATE TEMPORARY TABLE mine AS SELECT 1',
  'SET readonly = 0',
  'SET max_execution_time = 3600',
  'SET additional_table_filters = {}',
  'SELECT 1 SETTINGS readonly = 0',
  'SELECT * FROM events SETTINGS max_result_rows = 0',
])('an analyst is refused: %s', async (query) => {
  const { refused, text: answer } = await answerTo(query);
  const nothing = answer.trim() === '' || answer.trim() === '0';
  expect(refused || nothing, answer.slice(0, 300)).toBe(true);
});

test('nobody logs in as the reader of an analyst’s views', async () => {
  const passwords = JSON.parse(readFileSync(join(installation().dataDir, 'clickhouse', 'credentials.json'), 'utf8'));
  const url = new URL(installation().addresses.clickhouseUrl);
  url.username = readerName(ANALYST_SITE);
  for (const password of [passwords[url.username], '']) {
    url.password = password;
    const reader = createWarehouse(url.href);
    await expect(reader.command({ query: 'SELECT 1' })).rejects.toThrow(/Authentication failed|AUTHENTICATION_FAILED/);
    await reader.close();
  }
});

test('an analyst finds what columns mean', async () => {
  const query = "SELECT comment FROM system.columns WHERE table = 'events' AND name = 'person_id'";
  expect(await ask(analyst, query)).toEqual([{ comment: 'The person as known now, later merges included' }]);
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
