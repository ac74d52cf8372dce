import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EXPORT_COLUMNS, type ExportPlan, exportEvents } from '#services/cli/export.ts';
import { type ControlClient, createControlClient, httpTransport } from '#services/control_api/client.ts';
import { runCommand } from '#test/harness/command.ts';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';

const service = sharedService();
const token = readFileSync(service.ready.adminTokenFile, 'utf8').trim();
const client = createControlClient(httpTransport(service.ready.control), token);
const folder = mkdtempSync(join(tmpdir(), 'export-'));
const HOUR_MS = 3_600_000;
const endMs = Date.now() - HOUR_MS;

/** Some at the same moment, with ids that nothing is safe from. */
const EVENTS: SentEvent[] = Array.from({ length: 23 }, (_, number) =>
  newEvent({
    event: 'purchase',
    uuid: `it's \\ number ${number}`,
    distinct_id: `visitor-${number % 3}`,
    timestamp: new Date(endMs - (1 + Math.floor(number / 5)) * 30 * HOUR_MS).toISOString(),
    properties: { value: number, currency: 'EUR', email: `jane-${number}@example.com`, plan: 'gold' },
  }),
);
const AT_THE_END = newEvent({ uuid: 'at the end', timestamp: new Date(endMs).toISOString() });

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service);
  await postEvents(service.ready.edge, site.serverKey, [...EVENTS, AT_THE_END]);
  await untilStored(service, site.site, EVENTS.length + 1);
});
afterAll(async () => {
  await site.close();
  rmSync(folder, { recursive: true, force: true });
});

const planOf = (): ExportPlan => ({
  site: site.site,
  said: { from: '30d', to: 'now' },
  fromMs: endMs - 30 * 24 * HOUR_MS,
  toMs: endMs,
  format: 'ndjson',
  columns: EXPORT_COLUMNS,
});

const partsIn = (name: string): string[] => readdirSync(join(folder, name)).filter((part) => part.startsWith('part-'));
const textIn = (name: string): string =>
  partsIn(name)
    .sort()
    .map((part) => readFileSync(join(folder, name, part), 'utf8'))
    .join('');
const linesIn = (name: string): Record<string, unknown>[] =>
  textIn(name)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const quiet = { say: () => undefined, sleep: async () => undefined };

test('an export that ends anywhere goes on there, and has each event of its time once, in order', async () => {
  await exportEvents(planOf(), join(folder, 'whole'), { client, ...quiet });
  expect(partsIn('whole')).toHaveLength(1);
  let questions = 0;
  const dying: Pick<ControlClient, 'query' | 'queryFile'> = {
    queryFile: (...asked) => client.queryFile(...asked),
    query: (...asked) => (++questions % 6 === 0 ? Promise.reject(new Error('killed')) : client.query(...asked)),
  };
  let deaths = 0;
  for (let isDone = false; !isDone; ) {
    isDone = await exportEvents(planOf(), join(folder, 'killed'), { client: dying, ...quiet, rowsFirst: 2 }).then(
      () => true,
      (error: Error) => {
        expect(error.message).toBe('killed');
        deaths++;
        return false;
      },
    );
  }
  expect(deaths).toBeGreaterThan(1);
  expect(partsIn('killed').length).toBeGreaterThan(4);
  expect(textIn('killed')).toBe(textIn('whole'));
  const lines = linesIn('whole');
  expect(lines.map(({ event_id }) => String(event_id)).sort()).toEqual(EVENTS.map(({ uuid }) => uuid).sort());
  expect(lines.map(({ timestamp }) => timestamp)).toEqual(EVENTS.map(({ timestamp }) => String(timestamp)).sort());
  const [first] = EVENTS;
  expect(lines.find(({ event_id }) => event_id === first?.uuid)).toMatchObject({
    event: 'purchase',
    distinct_id: 'visitor-0',
    value: 0,
    currency: 'EUR',
    properties: { plan: 'gold' },
  });
  expect(textIn('whole')).not.toMatch(/jane-/);
});

test('a part that is too heavy is asked for in smaller ones', async () => {
  let refused = 0;
  const strict: Pick<ControlClient, 'query' | 'queryFile'> = {
    queryFile: (...asked) => client.queryFile(...asked),
    async query<Answer>(siteId: string, name: string, query: { sql: string }) {
      if (!/LIMIT \d{2}/.test(query.sql)) return client.query<Answer>(siteId, name, query);
      refused++;
      // As the service refuses it, in time and memory of its own.
      const heavy = 'SELECT arrayJoin(range(100001)) FROM events LIMIT 100001';
      return client.query<Answer>(siteId, name, { sql: heavy });
    },
  };
  await exportEvents(planOf(), join(folder, 'heavy'), { client: strict, ...quiet, rowsFirst: 40 });
  expect(refused).toBeGreaterThan(0);
  expect(textIn('heavy')).toBe(textIn('whole'));
});

test('the command writes Parquet, and goes on in no other export', async () => {
  const svc = (...words: string[]) =>
    runCommand('services/cli/main.ts', ['export', '--site', site.site, ...words], { LOCAL_DIR: service.dataDir });
  const out = join(folder, 'parquet');
  const { code, output } = await svc('--from', '30d', '--format', 'parquet', '--out', out);
  expect([code, output]).toEqual([0, expect.stringContaining(`${EVENTS.length + 1} events in 1 files`)]);
  expect(readFileSync(join(out, 'part-000001.parquet')).subarray(0, 4).toString()).toBe('PAR1');
  const again = await svc('--from', '30d', '--format', 'parquet', '--out', out);
  expect([again.code, again.output]).toEqual([0, expect.stringContaining('it was finished before, up to ')]);
  const other = await svc('--from', '29d', '--format', 'parquet', '--out', out);
  expect([other.code, other.output]).toEqual([2, expect.stringContaining('svc: folder_taken: ')]);
});
