import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hostileCount, hostileSeed } from '#test/harness/hostile/config.ts';
import { runHostile } from '#test/harness/hostile/run.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge } = service.ready;
const count = hostileCount();
const seed = hostileSeed();
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
  console.log(`${count} hostile requests of seed ${seed}`);
  const before = await readyProcess(service, 'edge');
  const warm = Math.floor(count / 4);
  const first = await runHostile(edge, site, { seed, count: warm });
  const rssBefore = rssBytes(before.pid);
  const rest = await runHostile(edge, site, { seed, first: warm, count: count - warm });
  console.log('answers', first.statuses, rest.statuses, `slowest ${Math.round(rest.slowestMs)} ms`);
  expect([...first.surprises, ...rest.surprises]).toEqual([]);
  expect((await readyProcess(service, 'edge')).pid).toBe(before.pid);
  expect(rssBytes(before.pid) - rssBefore).toBeLessThan(GROWTH_BYTES_MAX);
  expect(rest.statuses['200']).toBeGreaterThan(0);
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
