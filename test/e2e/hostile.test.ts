import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cases, testSeed } from '#test/harness/environment.ts';
import { DOCUMENTED, runHostile } from '#test/harness/hostile/run.ts';
import { runBroken } from '#test/harness/hostile/run_broken.ts';
import { CONTROL_DOCUMENTED, controlRequest, edgeRequest } from '#test/harness/hostile/targets.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { startSecondEdge } from '#test/harness/second_edge.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge } = service.ready;
const count = cases(1_000);
const broken = cases(400);
/** What 10 MB of buffers and caches come to, several times over; a leak of 2 KB a request is found by the long run. */
const GROWTH_BYTES_MAX = 100 * 1024 * 1024;

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service);
});
afterAll(() => site.close());

function rssBytes(pid: number): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

test('hostile requests: documented answers, the same process, flat memory', {
  timeout: 60_000 + count * 20,
}, async () => {
  console.log(`${count} hostile requests of seed ${testSeed()}`);
  const before = await readyProcess(service, 'edge');
  const warm = Math.floor(count / 4);
  const first = await runHostile(edge, site, { seed: testSeed(), count: warm });
  const rssBefore = rssBytes(before.pid);
  const rest = await runHostile(edge, site, { seed: testSeed(), first: warm, count: count - warm });
  console.log('answers', first.statuses, rest.statuses, `slowest ${Math.round(rest.slowestMs)} ms`);
  expect([...first.surprises, ...rest.surprises]).toEqual([]);
  expect((await readyProcess(service, 'edge')).pid).toBe(before.pid);
  expect(rssBytes(before.pid) - rssBefore).toBeLessThan(GROWTH_BYTES_MAX);
  expect(rest.statuses['200']).toBeGreaterThan(0);
});

/** So many connections to the edge for each to the control service. */
const EDGE_SHARE = 4 / 5;

test('connections broken at any byte: the same processes, flat memory, and every event that was answered 200', {
  timeout: 120_000 + broken * 30,
}, async () => {
  const before = { edge: await readyProcess(service, 'edge'), control: await readyProcess(service, 'control') };
  const token = readFileSync(service.ready.adminTokenFile, 'utf8').trim();
  const ofEdge = Math.floor(broken * EDGE_SHARE);
  const warm = Math.floor(ofEdge / 4);
  const edgeRun = (first: number, to: number) =>
    runBroken(edge, (chance) => edgeRequest(chance, site), {
      seed: testSeed(),
      first,
      count: to - first,
      documented: DOCUMENTED,
    });
  const first = await edgeRun(0, warm);
  const rssBefore = rssBytes(before.edge.pid);
  const rest = await edgeRun(warm, ofEdge);
  const control = await runBroken(service.ready.control, (chance) => controlRequest(chance, token), {
    seed: testSeed(),
    count: broken - ofEdge,
    documented: CONTROL_DOCUMENTED,
  });
  const promised = [...first.promised, ...rest.promised];
  console.log(`${broken} broken connections of seed ${testSeed()}`, rest.statuses, control.statuses);
  console.log(`${promised.length} events answered 200, memory ${(rssBytes(before.edge.pid) - rssBefore) >> 20} MiB`);
  expect([...first.surprises, ...rest.surprises, ...control.surprises]).toEqual([]);
  expect((await readyProcess(service, 'edge')).pid).toBe(before.edge.pid);
  expect((await readyProcess(service, 'control')).pid).toBe(before.control.pid);
  expect(rssBytes(before.edge.pid) - rssBefore).toBeLessThan(GROWTH_BYTES_MAX);
  expect(promised.length).toBeGreaterThan(broken / 20);
  await until(
    'every event that was answered 200',
    async () => {
      const stored = new Set(await storedIds(service, site.site));
      return promised.filter((id) => !stored.has(id));
    },
    (missing) => missing.length === 0,
    { timeoutMs: 60_000, everyMs: 1_000 },
  );
  for (const url of [before.edge.metricsUrl, before.control.metricsUrl]) {
    const errors = (await (await fetch(url)).text()).match(/^svc_request_errors_total\{.*$/gm);
    expect(errors).toBeNull();
  }
});

test('an edge with silent, slow and half-sent connections stops in time, and cleanly', {
  timeout: 60_000,
}, async () => {
  const second = await startSecondEdge(service);
  const { hostname, port } = new URL(second.url);
  const head = `POST /v1/ingest HTTP/1.1\r\nHost: x\r\nX-Svc-Key: ${site.serverKey}\r\n`;
  const sockets = ['', 'POST /v1/in', `${head}Content-Type: application/json\r\nContent-Length: 900\r\n\r\n{`].map(
    (text) => {
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      socket.write(text);
      return socket;
    },
  );
  await fetch(`${second.url}/v1/health`);
  await sleep(500);
  const startedMs = performance.now();
  expect(await second.stop()).toBe(0);
  expect(performance.now() - startedMs).toBeLessThan(18_000);
  for (const socket of sockets) socket.destroy();
});

test('after them an event is stored as ever', async () => {
  const event = newEvent();
  await until(
    'the event is accepted',
    async () => (await postEvents(edge, site.serverKey, [event])).status,
    (status) => status === 200,
    { timeoutMs: 20_000, everyMs: 500 },
  );
  await until(
    'its row',
    () => storedIds(service, site.site),
    (ids) => ids.includes(event.uuid),
    { timeoutMs: 30_000 },
  );
});
