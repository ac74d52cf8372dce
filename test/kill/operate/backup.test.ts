import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Restored } from '#services/cli/backup/restore.ts';
import type { ErasureItem } from '#services/control_api/persons.ts';
import { select } from '#test/harness/clickhouse.ts';
import { type Ended, runCommand } from '#test/harness/command.ts';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { type RunningService, startService } from '#test/harness/service.ts';
import { openSettings } from '#test/harness/settings.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const START_MS = 480_000;
const TEST_MS = 1_200_000;
const EMAIL = 'jane.roe@example.com';
const PLACE = "File('monday')";

const root = mkdtempSync(join(tmpdir(), 'backup-'));
const first = join(root, 'first');
const backup = join(root, 'monday');
let service: RunningService;
let site: TestSite;

beforeAll(async () => {
  service = await startService(first, { timeoutMs: START_MS });
  site = await makeSite(service, { webhookUrl: 'http://127.0.0.1:1/hook' });
}, START_MS + 60_000);

afterAll(async () => {
  await service.stop();
  rmSync(root, { recursive: true, maxRetries: 5 });
}, 120_000);

const says = (distinct_id: string, email: string): SentEvent =>
  newEvent({ event: 'purchase', distinct_id, properties: { email, value: 5, currency: 'EUR' } });

async function send(...events: SentEvent[]): Promise<void> {
  for (const event of events) {
    const answer = await postEvents(service.ready.edge, site.serverKey, [event]);
    expect(answer).toMatchObject({ status: 200, body: { accepted: 1 } });
  }
}

/** Events that queries see, and how many rows hold them, by distinct id. */
async function rowsBy(): Promise<Record<string, string>> {
  const query = `SELECT distinct_id, concat(toString(uniqExact(event_id)), ' in ', toString(count())) AS rows
    FROM event_rows WHERE site_id = {site:String} GROUP BY distinct_id`;
  const rows = await select<{ distinct_id: string; rows: string }>(service.ready.clickhouse, query, {
    site: site.site,
  });
  return Object.fromEntries(rows.map(({ distinct_id, rows: of }) => [distinct_id, of]));
}

/** Events that came again, a row for each time. */
async function repeatedIds(): Promise<string[]> {
  const query = 'SELECT event_id AS id FROM duplicates FINAL WHERE site_id = {site:String} ORDER BY id';
  const rows = await select<{ id: string }>(service.ready.clickhouse, query, { site: site.site });
  return rows.map(({ id }) => id);
}

const stored = (wanted: Record<string, string>) =>
  until('the rows', rowsBy, (seen) => JSON.stringify(sorted(seen)) === JSON.stringify(sorted(wanted)), {
    timeoutMs: 120_000,
  });
const sorted = (of: Record<string, string>) => Object.entries(of).toSorted(([a], [b]) => a.localeCompare(b));

async function personsOf(...distinctIds: string[]): Promise<string[]> {
  const query = `SELECT DISTINCT toString(person_id) AS person FROM events
    WHERE site_id = {site:String} AND has(splitByChar(',', {ids:String}), distinct_id)`;
  const found = await select<{ person: string }>(service.ready.clickhouse, query, {
    site: site.site,
    ids: distinctIds.join(),
  });
  return found.map(({ person }) => person);
}

const svc = (settings: Record<string, string>, ...words: string[]): Promise<Ended> =>
  runCommand('services/cli/main.ts', words, settings);

/** Works with the parts of a folder while no process of the service runs. */
async function withParts<T>(dataDir: string, work: (env: Record<string, string>) => Promise<T>): Promise<T> {
  const parts = await startService(dataDir, { words: ['--parts'], timeoutMs: START_MS });
  try {
    return await work({ LOCAL_DIR: dataDir });
  } finally {
    await parts.stop();
  }
}

async function serve(dataDir: string): Promise<void> {
  service = await startService(dataDir, { timeoutMs: START_MS });
  await site.settings.close();
  site = { ...site, settings: await openSettings(service) };
}

test('a backup holds what cannot be made again, for its owner alone, and no address or key', {
  timeout: TEST_MS,
}, async () => {
  await send(
    newEvent({ distinct_id: 'laptop' }),
    says('laptop', EMAIL),
    says('phone', EMAIL),
    says('other', 'x@y.example'),
  );
  await stored({ laptop: '2 in 2', phone: '1 in 1', other: '1 in 1' });
  await until(
    'one person',
    () => personsOf('laptop', 'phone'),
    (persons) => persons.length === 1,
  );
  const here = { LOCAL_DIR: first };
  const outcome = await svc(here, 'backup', 'create', backup, '--clickhouse', PLACE);
  expect(outcome.output).toContain('Backup written to');
  expect(outcome.code).toBe(0);
  expect(await svc(here, 'backup', 'create', backup)).toMatchObject({
    code: 2,
    output: expect.stringContaining('folder_not_empty'),
  });
  expect(await svc(here, 'backup', 'check', backup)).toMatchObject({
    code: 0,
    output: expect.stringContaining('site.config:'),
  });
  expect(statSync(join(backup, 'backup.json')).mode & 0o777).toBe(0o600);
  const secrets = ['secrets.keys', 'identity.secret'].map((name) => readFileSync(join(first, name), 'utf8').trim());
  const password = new URL(service.ready.clickhouse).password;
  for (const path of filesBelow(backup).concat(filesBelow(join(first, 'clickhouse', 'backups')))) {
    const bytes = readFileSync(path);
    for (const secret of [...secrets, password, EMAIL]) expect(bytes.includes(secret), path).toBe(false);
  }
});

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );

test('a ClickHouse that lost everything has it again, what came since too, each once, and nothing of who was erased since', {
  timeout: TEST_MS,
}, async () => {
  const [theirs, others] = [says('watch', EMAIL), says('later', 'z@y.example')];
  await send(newEvent({ distinct_id: 'later' }), others, others, theirs, theirs);
  await stored({ laptop: '2 in 2', phone: '1 in 1', other: '1 in 1', later: '2 in 2', watch: '1 in 1' });
  const both = [theirs.uuid, others.uuid].toSorted();
  await until('the repeats', repeatedIds, (ids) => ids.join() === both.join());
  const erased = await site.settings.run<ErasureItem>('person', 'erase', '--site', site.site, '--email', EMAIL);
  expect(await rowsBy()).toEqual({ other: '1 in 1', later: '2 in 2' });
  // They come back, under another id, and asked for nothing since.
  await send(says('returned', EMAIL));
  await stored({ other: '1 in 1', later: '2 in 2', returned: '1 in 1' });
  await service.stop();

  const refused = await withParts(first, (env) => svc(env, 'backup', 'restore', backup, '--clickhouse', PLACE));
  expect(refused).toMatchObject({ code: 2, output: expect.stringContaining('tables_there') });
  const backups = join(root, 'kept');
  mkdirSync(backups);
  copyFolder(join(first, 'clickhouse', 'backups'), backups);
  rmSync(join(first, 'clickhouse', 'data'), { recursive: true });
  const restored = await withParts(first, (env) =>
    svc(env, 'backup', 'restore', backup, '--clickhouse', PLACE, '--json'),
  );
  expect(restored.code).toBe(0);
  const restoredAs = JSON.parse(restored.output.slice(restored.output.indexOf('{'))) as Restored;
  expect(restoredAs).toMatchObject({ erased_anew: 1, topics: {} });
  await serve(first);
  const since = new Date(restoredAs.fill_since ?? 0).toISOString();
  const refill = () => svc({ LOCAL_DIR: first }, 'backup', 'refill', since);
  for (const filled of await Promise.all([refill(), refill()])) {
    expect(filled.output).toContain('Everything that Kafka has since then is in ClickHouse.');
    expect(filled.code).toBe(0);
  }
  await stored({ other: '1 in 1', later: '2 in 2', returned: '1 in 1' });
  // Of the erased, whose events are left out, no other table says anything either.
  expect(await repeatedIds()).toEqual([others.uuid]);
  const receipt = () => site.settings.run<ErasureItem>('erasure', 'show', erased.erasure_id, '--site', site.site);
  await until('erased anew', receipt, ({ phase }) => phase === 'done', { timeoutMs: 120_000 });
  expect(await rowsBy()).toEqual({ other: '1 in 1', later: '2 in 2', returned: '1 in 1' });
  await send(newEvent({ distinct_id: 'other' }));
  await stored({ other: '2 in 2', later: '2 in 2', returned: '1 in 1' });
});

function copyFolder(from: string, to: string): void {
  for (const path of filesBelow(from)) {
    const target = join(to, path.slice(from.length));
    mkdirSync(join(target, '..'), { recursive: true });
    copyFileSync(path, target);
  }
}

test('on new machines there are settings, keys, persons and rows as of the backup', { timeout: TEST_MS }, async () => {
  await service.stop();
  const second = join(root, 'second');
  copyFolder(join(root, 'kept'), join(second, 'clickhouse', 'backups'));
  const restore = (env: Record<string, string>) =>
    svc(env, 'backup', 'restore', backup, '--topics', '--clickhouse', PLACE);
  await withParts(second, async (env) => {
    // Without the keys it would be worth little.
    expect(
      await restore({ ...env, SECRETS_KEYS: `new:${'A'.repeat(43)}=`, IDENTITY_SECRET: `${'A'.repeat(43)}=` }),
    ).toMatchObject({
      code: 2,
      output: expect.stringContaining('keys_differ'),
    });
    for (const name of ['secrets.keys', 'identity.secret']) copyFileSync(join(first, name), join(second, name));
    const restored = await restore(env);
    expect(restored.output).toContain('Restored as of');
    expect(restored.code).toBe(0);
    expect(await svc(env, 'backup', 'restore', backup, '--topics')).toMatchObject({
      code: 2,
      output: expect.stringContaining('topic_not_empty'),
    });
  });
  for (const name of ['admin.token'].filter((one) => existsSync(join(first, one))))
    copyFileSync(join(first, name), join(second, name));
  await serve(second);
  expect(await rowsBy()).toEqual({ laptop: '2 in 2', phone: '1 in 1', other: '1 in 1' });
  const [before] = await personsOf('laptop', 'phone');
  expect(await personsOf('laptop', 'phone')).toEqual([before]);
  // The key is known, the events are metered and stored, and who says the address is that person.
  await send(says('tablet', EMAIL));
  await until(
    'stored',
    () => personsOf('tablet'),
    (persons) => persons.length === 1,
  );
  await until(
    'the same person',
    () => personsOf('laptop', 'phone', 'tablet'),
    (persons) => persons.length === 1,
  );
  const destinations = await site.settings.run<{ problems?: unknown[] }[]>('destination', 'list', '--site', site.site);
  expect(destinations).toMatchObject([{ name: 'webhook', settings: { url: 'http://127.0.0.1:1/hook' } }]);
});
