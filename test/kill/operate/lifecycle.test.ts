import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '#test/harness/command.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { descendantsOf, isAlive, type ProcessMark } from '#test/harness/processes.ts';
import { type RunningService, startRefused, startService } from '#test/harness/service.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import { storedIds, untilStored } from '#test/harness/stored_rows.ts';
import { until } from '#test/harness/until.ts';

/** SIGTERM to a process: gone in this time (guarantee G10). */
const PROCESS_STOP_MS = 25_000;
const SERVICE_STOP_MS = 45_000;
const REAPED_MS = 20_000;
/** Longer than a stage whose client fell silent while it joined its group takes until it is ended and begun again. */
const START_MS = 180_000;
/** With room for the stop before it, and for its own end: a start that takes too long says what it and its processes said. */
const STARTED_MS = START_MS + 150_000;
/** Not the default: what is started on these topics again must go by them. */
const PARTITIONS = '3';
/** The demo's platforms and shop, which are no stages: they have no metrics and no ready line. */
const BESIDE_THE_SERVICE = ['standin', 'shop'];
const STAGES = ['control', 'edge', 'dedup', 'quota', 'identity', 'warehouse', 'delivery.meta', 'delivery.webhook'];

let dataDir: string;
let service: RunningService;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'lifecycle-'));
  service = await startService(dataDir, { env: { EVENT_PARTITIONS: PARTITIONS }, timeoutMs: START_MS });
}, STARTED_MS);
afterAll(async () => {
  await service.stop();
  rmSync(dataDir, { recursive: true, maxRetries: 5 });
}, SERVICE_STOP_MS);

test('a second start on the same data folder is refused with a clear line', async () => {
  const { code, output } = await startRefused(dataDir);
  expect(code).toBe(1);
  expect(output).toBe(`already running (pid ${service.pid}): stop it first, or see npm run svc -- status`);
});

test('what is said holds no secret, and what is written is for its owner alone', () => {
  const { serverKey, clickhouse, demo } = service.ready;
  const secrets = [serverKey, demo.travel.serverKey, new URL(clickhouse).password];
  expect(secrets.filter((secret) => service.output().includes(secret))).toEqual([]);
  const files = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  const isOpen = (name: string) => {
    const found = statSync(join(dataDir, name), { throwIfNoEntry: false });
    return found?.isFile() === true && (found.mode & 0o077) !== 0;
  };
  expect(files.filter((name) => isOpen(name))).toEqual([]);
});

test('each process stops on SIGTERM in less than 25 s with exit code 0, and is started again', {
  timeout: 90_000,
}, async () => {
  const names = Object.keys(service.ready.processes).filter((name) => !BESIDE_THE_SERVICE.includes(name));
  expect(names).toEqual(expect.arrayContaining(STAGES));
  const before = await Promise.all(names.map((name) => readyProcess(service, name)));
  for (const { pid } of before) process.kill(pid, 'SIGTERM');
  await untilGone(before, PROCESS_STOP_MS);
  const untold = () => names.filter((name) => !service.output().includes(`${name} died (exit code 0)`));
  await until('each said to have ended with exit code 0', untold, (left) => left.length === 0);
  await Promise.all(names.map((name, index) => readyProcess(service, name, before[index])));
});

test('while ClickHouse stands still, everything that is asked says so in seconds', { timeout: 90_000 }, async () => {
  const { edge, serverKey, site } = service.ready;
  const svc = (...words: string[]) => runCommand('services/cli/main.ts', words, { LOCAL_DIR: dataDir });
  await postEvents(edge, serverKey, [newEvent()]);
  await untilStored(service, site, 1);
  const [server, ...others] = descendantsOf(service.pid).filter(({ command }) =>
    command.includes('parts/clickhouse/server.ts'),
  );
  // Process 0 is whoever asks, and all that run with it.
  if (server === undefined) throw new Error('the server of ClickHouse is not found');
  expect(others).toEqual([]);
  process.kill(server.pid, 'SIGSTOP');
  try {
    await postEvents(edge, serverKey, [newEvent()]);
    const startedMs = performance.now();
    const health = await svc('destination', 'health');
    expect(performance.now() - startedMs).toBeLessThan(15_000);
    expect(health).toMatchObject({ code: 1, output: expect.stringContaining('query_unavailable') });
    const status = await until(
      'the status says it',
      () => svc('status'),
      ({ output }) => /warehouse +waiting for clickhouse, [1-9]\d* records? behind/.test(output),
      { timeoutMs: 20_000 },
    );
    expect(status.code).toBe(1);
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
  await untilStored(service, site, 2);
});

test('stopped and started on the same data folder it has the same rows, keys and address', {
  timeout: STARTED_MS,
}, async () => {
  const first = service.ready;
  const sent = [newEvent(), newEvent(), newEvent()];
  await postEvents(first.edge, first.serverKey, sent);
  await untilStored(service, first.site, sent.length);
  const rows = await storedIds(service, first.site);

  const started = descendantsOf(service.pid);
  expect(await service.stop()).toBe(0);
  await untilGone(started);

  service = await startService(dataDir, { timeoutMs: START_MS });
  expect(service.output()).not.toContain('MISMATCH');
  const { edge, site, serverKey, browserKey } = service.ready;
  expect({ edge, site, serverKey, browserKey }).toEqual({
    edge: first.edge,
    site: first.site,
    serverKey: first.serverKey,
    browserKey: first.browserKey,
  });
  expect((await storedIds(service, site)).sort()).toEqual(rows.sort());

  // What was sent before is still known as sent, and what is new is taken.
  const fresh = newEvent();
  await postEvents(edge, serverKey, [...sent, fresh]);
  await untilStored(service, site, rows.length + 1);
  expect((await storedIds(service, site)).sort()).toEqual([...rows, fresh.uuid].sort());
});

test('kill -9 of the start process leaves no process behind, and it starts again', {
  timeout: STARTED_MS,
}, async () => {
  const { serverKey, site } = service.ready;
  const rows = (await storedIds(service, site)).length;
  const started = descendantsOf(service.pid);
  expect(started.length).toBeGreaterThan(10);
  service.kill('SIGKILL');
  await untilGone(started);

  service = await startService(dataDir, { timeoutMs: START_MS });
  expect(await postEvents(service.ready.edge, serverKey, [newEvent()])).toMatchObject({ body: { accepted: 1 } });
  await untilStored(service, site, rows + 1);
});

async function untilGone(processes: readonly ProcessMark[], timeoutMs = REAPED_MS): Promise<void> {
  const alive = () => processes.filter(isAlive).map(({ command }) => command);
  await until('all processes gone', alive, (left) => left.length === 0, { timeoutMs });
}
