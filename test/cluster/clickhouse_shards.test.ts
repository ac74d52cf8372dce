import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createWarehouse, insertBlock, select, type Warehouse, WarehouseError } from '#infra/clickhouse/client.ts';
import { createUnseenPersons } from '#infra/clickhouse/erasure/unseen_persons.ts';
import { retryInsert } from '#infra/clickhouse/inserts/deduplicated_insert.ts';
import { checkDuplicates } from '#infra/clickhouse/inserts/duplicate_check.ts';
import { inspectClickhouse } from '#infra/clickhouse/inspect.ts';
import { mergeNightly } from '#infra/clickhouse/merge_persons.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { createRunningQueries } from '#infra/clickhouse/queries/running_queries.ts';
import { dropAgedOfSites, keepDays } from '#infra/clickhouse/retention.ts';
import { readClickhouseAddress } from '#infra/clickhouse/servers.ts';
import { wholeGroups } from '#pipelines/erasure/retention.ts';
import { clickhouseChecks } from '#services/cli/doctor/clickhouse_checks.ts';
import { type ClickhouseShards, startClickhouseShards, stopShards } from '#test/harness/clickhouse_shards.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { until } from '#test/harness/until.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';

const MIGRATIONS = new URL('../../infra/clickhouse/migrations/', import.meta.url);
const DAY_MS = 86_400_000;
/** Visitors enough that each shard has some, and rows of theirs. */
const VISITORS = 40;
const P = (letter: string): string => `p_${letter.repeat(32)}`;

let dataDir: string;
let shards: ClickhouseShards;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'shards-'));
  shards = await startClickhouseShards(dataDir);
});
afterAll(async () => {
  await stopShards(shards);
  rmSync(dataDir, { recursive: true, force: true });
});

/** The connection of a test to a database of its own, `svc` where its servers are killed: the one they make at their start. */
async function open(name = 'svc'): Promise<{ warehouse: Warehouse; url: string }> {
  const root = createWarehouse(shards.url);
  for (const server of root.servers) await server.command({ query: `CREATE DATABASE IF NOT EXISTS ${name}` });
  await root.close();
  const url = shards.url.replace(/[^/]*$/, name);
  const warehouse = createWarehouse(url);
  onTestFinished(() => warehouse.close());
  return { warehouse, url };
}

const row = (visitor: number, more: Parameters<typeof sampleEvent>[0] = {}) =>
  eventRow({
    coordinate: { partition: 0, offset: visitor, index: 0 },
    person: { person_id: P((visitor % 10).toString()), identifiers: null },
    event: sampleEvent({ event_id: `e${visitor}`, distinct_id: `d${visitor}`, ...more }),
  });
const rowsFor = (more: Parameters<typeof sampleEvent>[0] = {}) =>
  Array.from({ length: VISITORS }, (_, visitor) => row(visitor, more));

/** Of each shard by itself. */
function ofShards<T>({ servers }: Warehouse, query: string): Promise<T[][]> {
  return Promise.all(servers.map((server) => select<T>(server, query)));
}

const countOf = async (asked: Pick<Warehouse, 'query'>, table: string): Promise<number> =>
  (await select<{ rows: number }>(asked, `SELECT toUInt32(count()) AS rows FROM ${table}`))[0]?.rows ?? 0;

test('a server that was away is told what it missed, and one that is not named is missed', async () => {
  const { warehouse, url } = await open('migrated');
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(MIGRATIONS, folder, { recursive: true });
  const apply = () => migrate(warehouse, url, shards.cluster, pathToFileURL(`${folder}/`));
  const first = await apply();
  expect(first.applied.length).toBeGreaterThan(0);
  expect(await apply()).toEqual({ applied: [], mismatches: [] });

  writeFileSync(
    join(folder, '9000_later.sql'),
    "ALTER TABLE inventory ADD COLUMN IF NOT EXISTS later String COMMENT 'Later';\n",
  );
  const [, second] = shards.servers;
  second?.kill('SIGKILL');
  await until('it to be away', () => warehouse.alive().length === 1);
  await expect(apply()).rejects.toThrow();
  const said = async (): Promise<string[]> =>
    clickhouseChecks(await inspectClickhouse(warehouse, shards.cluster, Date.now)).flatMap(({ check, state, says }) =>
      check === 'clickhouse.cluster' ? [`${state}: ${says.replace(/127[\d.]+:\d+/, 'ADDRESS')}`] : [],
    );
  expect(await said()).toEqual([
    'failure: no server of shard 2 answers: rows and questions wait',
    'warning: servers do not answer: ADDRESS',
  ]);
  await second?.start();
  await until('it to be back', () => warehouse.alive().length === 2);
  expect(await said()).toEqual(['failure: servers differ in their tables']);
  expect(await apply()).toEqual({ applied: ['9000_later.sql'], mismatches: [] });
  expect(await said()).toEqual(['ok: 2 servers of 2 shards answer, with the same tables']);
  const columns =
    "SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'later' ORDER BY table";
  const both = [{ table: 'inventory' }, { table: 'inventory_local' }];
  expect(await ofShards(warehouse, columns)).toEqual([both, both]);

  const [one] = readClickhouseAddress(url);
  const alone = createWarehouse(one);
  onTestFinished(() => alone.close());
  await expect(migrate(alone, one, shards.cluster)).rejects.toMatchObject({ code: 'warehouse_mismatch' });
});

test('a block is on its shards once, whichever server is given it, and so is what views make of it', async () => {
  const { warehouse, url } = await open('once');
  await migrate(warehouse, url, shards.cluster);
  const links = Array.from({ length: VISITORS }, (_, at) => ({
    ...{ site_id: 'shop', person_id: `p_${at.toString(16).padStart(32, '0')}`, target: P('a') },
    ...{ first_seen: 0, version: 1 },
  }));
  for (const server of warehouse.servers) {
    const attempt = <T>(ask: (asked: typeof server) => Promise<T>): Promise<T> => ask(server);
    const only = { attempt, insert: server.insert.bind(server) } as Parameters<typeof insertBlock>[0];
    await insertBlock(only, 'event_rows', 'rows', rowsFor());
    await insertBlock(only, 'person_links', 'links', links);
  }
  const counts = await Promise.all(warehouse.servers.map((server) => countOf(server, 'event_rows_local')));
  expect(counts.every((count) => count > 0)).toBe(true);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(VISITORS);
  expect([await countOf(warehouse, 'person_links'), await countOf(warehouse, 'merged_persons')]).toEqual([
    VISITORS,
    VISITORS,
  ]);
  // An event that came again replaces its row: both are of one visitor, and therefore on one shard.
  const newer = rowsFor({ received_at: sampleEvent().received_at + 1 });
  await insertBlock(warehouse, 'event_rows', 'again', newer);
  for (const server of warehouse.servers) await server.command({ query: 'OPTIMIZE TABLE event_rows_local FINAL' });
  expect(await countOf(warehouse, 'event_rows')).toBe(VISITORS);
});

test('who was seen is put together from both shards, and who was not is forgotten on both', async () => {
  const { warehouse, url } = await open('unseen');
  await migrate(warehouse, url, shards.cluster);
  const { site_id } = sampleEvent();
  const nowMs = Date.now();
  const digits = Array.from({ length: 10 }, (_, digit) => String(digit));
  const link = (person: string, target: string) => ({
    ...{ site_id, person_id: P(person), target: P(target), first_seen: 0, version: 1 },
  });
  // Of 1 and 2 that one is seen whom they are part of not.
  const links = [...digits.map((digit) => link(digit, digit)), link('a', '1'), link('b', '2')];
  await insertBlock(warehouse, 'person_links', 'links', links);
  await insertBlock(warehouse, 'event_rows', 'old', rowsFor({ received_at: nowMs - 90 * DAY_MS }));
  const recent = ['4', '6', 'a', 'b'].map((letter, at) =>
    eventRow({
      coordinate: { partition: 1, offset: at, index: 0 },
      person: { person_id: P(letter), identifiers: null },
      event: sampleEvent({ event_id: `new${at}`, distinct_id: `n${at}`, received_at: nowMs }),
    }),
  );
  await insertBlock(warehouse, 'event_rows', 'new', recent);
  const unseen = createUnseenPersons(warehouse, shards.cluster);
  await unseen.note(site_id, 0);
  await unseen.noteOthers(site_id, nowMs);
  const times = { seenBeforeMs: nowMs - 30 * DAY_MS, nowMs };
  const before = { beforeMs: times.seenBeforeMs, splitMs: nowMs - 45 * DAY_MS };
  const found = wholeGroups(await unseen.unseen(site_id, before, '', 100), 100);
  expect(found.map(({ leader }) => leader)).toEqual(['0', '3', '5', '7', '8', '9'].map(P));
  for (const what of ['besides', 'links', 'seen'] as const) {
    await unseen.begin(what, site_id, found, times);
    await until('the deletion', unseen.underWay, (running) => running.size === 0);
  }
  await unseen.end();
  expect([await countOf(warehouse, 'person_links'), await countOf(warehouse, 'merged_persons')]).toEqual([6, 6]);
  expect(await unseen.unseen(site_id, before, '', 100)).toEqual([]);
  expect(await countOf(warehouse, 'event_rows')).toBe(VISITORS + recent.length);
});

test('events that stand there twice are found, on one shard and on two', async () => {
  const { warehouse, url } = await open('repeated');
  await migrate(warehouse, url, shards.cluster);
  for (const server of warehouse.servers) await server.command({ query: 'SYSTEM STOP MERGES event_rows_local' });
  for (const token of ['one', 'two']) await insertBlock(warehouse, 'event_rows', token, rowsFor());
  expect(await checkDuplicates(warehouse, shards.cluster)).toEqual({ rows: 2 * VISITORS, repeated: VISITORS });
  expect(await checkDuplicates(warehouse, shards.cluster)).toEqual({ rows: 0, repeated: 0 });
  // Of one event as if many visitors had sent it: some are on the other shard.
  const copies = Array.from({ length: VISITORS }, (_, visitor) => row(visitor, { event_id: 'of many' }));
  await insertBlock(warehouse, 'event_rows', 'copies', copies);
  expect(await checkDuplicates(warehouse, shards.cluster)).toMatchObject({ repeated: 1 });
});

test('a shard that is killed amid inserts has each row once when it is back', { timeout: 240_000 }, async () => {
  const { warehouse, url } = await open();
  await migrate(warehouse, url, shards.cluster);
  const [, second] = shards.servers;
  const BLOCKS = 12;
  const blockOf = (block: number) =>
    Array.from({ length: VISITORS }, (_, at) => row(at, { event_id: `b${block}-${at}` }));
  const refused: string[] = [];
  for (let block = 0; block < BLOCKS; block++) {
    const inserting = insertBlock(warehouse, 'event_rows', `block ${block}`, blockOf(block));
    if (block % 4 === 1) second?.kill('SIGKILL');
    let isIn = await inserting.then(
      () => true,
      (error: unknown) => {
        refused.push(error instanceof WarehouseError ? `${error.code} ${error.recovery}` : String(error));
        return false;
      },
    );
    if (block % 4 === 1) {
      // Whoever asks meanwhile is told that it cannot be answered, and not given a part of the answer.
      await until('the question to be refused', () =>
        countOf(warehouse, 'event_rows').then(
          () => null,
          (error: unknown) => (error as WarehouseError).code,
        ),
      ).then((code) => expect(code).toBe('warehouse_unavailable'));
      await second?.start();
    }
    while (!isIn) {
      isIn = await retryInsert(warehouse, 'event_rows', `block ${block}`, blockOf(block)).then(
        () => true,
        () => false,
      );
    }
  }
  expect(new Set(refused)).toEqual(new Set(refused.length > 0 ? ['warehouse_unavailable again'] : []));
  const [counted] = await select<{ rows: number; ids: number }>(
    warehouse,
    "SELECT toUInt32(count()) AS rows, toUInt32(uniqExact(event_id)) AS ids FROM event_rows WHERE event_id LIKE 'b%'",
  );
  expect(counted).toEqual({ rows: BLOCKS * VISITORS, ids: BLOCKS * VISITORS });
});

test('a server that hangs costs one wait, and the others answer for it until it goes on', async () => {
  const { warehouse } = await open();
  const [, second] = shards.servers;
  second?.kill('SIGSTOP');
  try {
    const answers = await Promise.all(Array.from({ length: 6 }, () => select(warehouse, 'SELECT 1 AS one')));
    expect(new Set(answers.map((rows) => JSON.stringify(rows)))).toEqual(new Set(['[{"one":1}]']));
    expect(warehouse.alive()).toHaveLength(1);
  } finally {
    second?.kill('SIGCONT');
  }
  await until('it to be asked again', () => warehouse.alive().length === 2);
});

test('what changes rows and how long they are kept reaches every shard', { timeout: 240_000 }, async () => {
  const { warehouse, url } = await open('changed');
  const { cluster } = shards;
  await migrate(warehouse, url, cluster);
  await keepDays(warehouse, 'event_rows', 300, cluster);
  await keepDays(warehouse, 'event_rows', 300, cluster);
  const rules = await ofShards<{ rule: string }>(
    warehouse,
    "SELECT extract(engine_full, 'toIntervalDay.(\\\\d+)') AS rule FROM system.tables WHERE database = currentDatabase() AND name = 'event_rows_local'",
  );
  expect(rules).toEqual([[{ rule: '300' }], [{ rule: '300' }]]);

  const nowMs = Date.now();
  const [old, new_] = [nowMs - 60 * DAY_MS, nowMs - 3_600_000];
  await insertBlock(warehouse, 'event_rows', 'old', rowsFor({ timestamp: old, received_at: old }));
  await insertBlock(
    warehouse,
    'event_rows',
    'new',
    Array.from({ length: VISITORS }, (_, at) => row(at, { event_id: `n${at}`, timestamp: new_, received_at: new_ })),
  );
  const { site_id } = sampleEvent();
  expect(await dropAgedOfSites(warehouse, 'event_rows', [{ siteId: site_id, days: 30 }], cluster)).toBe(VISITORS);
  const isLeft = async (): Promise<boolean> => (await countOf(warehouse, 'event_rows')) === VISITORS;
  await until('the old rows of both to be gone', isLeft);

  // Each of the ten persons has rows on both shards.
  const link = (digit: number) => ({ site_id, person_id: P(String(digit)), target: P('f'), first_seen: 0, version: 1 });
  await insertBlock(
    warehouse,
    'person_links',
    'links',
    Array.from({ length: 10 }, (_, digit) => link(digit)),
  );
  await reloadPersons(warehouse, cluster);
  const persons = 'SELECT DISTINCT person_id AS person, uniqExact(actor) AS actors FROM event_rows GROUP BY person';
  expect(await ofShards(warehouse, persons)).toMatchObject([[{ person: P('f') }], [{ person: P('f') }]]);
  await mergeNightly(warehouse, cluster);
  const written = 'SELECT DISTINCT arrived_person_id AS person FROM event_rows_local';
  const isWritten = (found: { person: string }[][]): boolean =>
    found.every((shard) => shard.length === 1 && shard[0]?.person === P('f'));
  await until('the rows of both to be written', () => ofShards<{ person: string }>(warehouse, written), isWritten);
  expect(await createRunningQueries(warehouse, cluster).list()).toEqual([]);
});
