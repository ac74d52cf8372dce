import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalParts, type PartName, startParts } from '#services/local/parts/parts.ts';
import { clickhouse, databaseOfClient, readAll, sendGarbage, writeAll } from './clients.ts';

/** Room for a first run, which fetches the parts. */
const INSTALL_MS = 240_000;
const TEST_MS = 60_000;
const ALL_KEPT = { redis: 'yes', kafka: 'yes', clickhouse: 'yes', registry: 'kept-value' };
const NAMES: PartName[] = ['kafka', 'registry', 'redis', 'clickhouse'];

const exits: string[] = [];
let dataDir: string;
let local: LocalParts;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'local-parts-'));
  local = await start();
  await writeAll(local.addresses);
}, INSTALL_MS);

afterAll(async () => {
  await local.stop();
  rmSync(dataDir, { recursive: true });
}, TEST_MS);

test('every part answers', { timeout: TEST_MS }, async () => {
  expect(await readAll(local.addresses)).toEqual(ALL_KEPT);
});

test('one ClickHouse URL serves a plain POST and the official client', { timeout: TEST_MS }, async () => {
  expect(await clickhouse(local.addresses, 'SELECT currentDatabase()')).toBe('svc');
  expect(await databaseOfClient(local.addresses)).toEqual([{ name: 'svc' }]);
});

test('a stranger without a password may not read tables', { timeout: TEST_MS }, async () => {
  const { origin } = new URL(local.addresses.clickhouseUrl);
  const answer = await fetch(origin, { method: 'POST', body: 'SELECT * FROM svc.kept' });
  expect(await answer.text()).toContain('ACCESS_DENIED');
});

test('a malformed request does not end ClickHouse', { timeout: TEST_MS }, async () => {
  const pid = local.parts.clickhouse?.pid;
  await sendGarbage(local.addresses.clickhouseUrl);
  expect(await clickhouse(local.addresses, 'SELEC 1')).toContain('DB::Exception');
  expect(await clickhouse(local.addresses, 'SELECT 1')).toBe('1');
  expect(local.parts.clickhouse?.pid).toBe(pid);
});

test('no part leaves anything in the temporary folder of the machine', { timeout: TEST_MS }, async () => {
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('com_'))).toEqual([]);
  expect(readdirSync(join(dataDir, 'registry-tmp'))).not.toEqual([]);
});

test('addresses and data are the same after all parts were stopped', { timeout: TEST_MS }, async () => {
  const before = local.addresses;
  await local.stop();
  local = await start();
  expect(local.addresses).toEqual(before);
  expect(await readAll(local.addresses)).toEqual(ALL_KEPT);
});

for (const name of NAMES) {
  test(`${name} killed is reported, and started again has its data`, { timeout: TEST_MS }, async () => {
    exits.length = 0;
    local.parts[name]?.kill('SIGKILL');
    await expect.poll(() => exits, { timeout: 5_000 }).toEqual([name]);
    expect(local.parts[name]?.pid).toBeUndefined();
    await local.parts[name]?.start();
    expect(await readAll(local.addresses)).toEqual(ALL_KEPT);
  });
}

test('a dead part starts again by itself when asked to', { timeout: TEST_MS }, async () => {
  await local.stop();
  local = await start(true);
  const pid = local.parts.redis?.pid;
  local.parts.redis?.kill('SIGKILL');
  await expect.poll(() => local.parts.redis?.pid ?? pid, { timeout: 5_000 }).not.toBe(pid);
  await local.parts.redis?.start();
  expect(await readAll(local.addresses)).toEqual(ALL_KEPT);
});

function start(restartDeadParts = false): Promise<LocalParts> {
  const onPartExit = (name: string) => exits.push(name);
  return startParts({ dataDir, external: {}, onProgress: () => undefined, onPartExit, restartDeadParts });
}
