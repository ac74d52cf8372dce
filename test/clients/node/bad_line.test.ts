import { afterAll, beforeAll, expect, test } from 'vitest';
import { Client, type ClientProblem, type DroppedEvents, type RejectedEvent } from '#clients/node/src/client.ts';
import { systemRuntime } from '#clients/node/src/runtime.ts';
import { type BadLine, startBadLine } from '#test/clients/bad_line.ts';
import { timesOff, untilCounted } from '#test/clients/stored.ts';
import { cases, testSeed } from '#test/harness/environment.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';

const EVENTS = cases(100_000);
/** Of so many events one is older than the service takes, and one is a robot's. */
const ODD = 1_000;
const HOUR_MS = 3_600_000;

const service = sharedService();
let site: TestSite;
let line: BadLine;
beforeAll(async () => {
  site = await makeSite(service);
  line = await startBadLine(service.ready.edge, testSeed());
});
afterAll(async () => {
  await site.close();
  await line.close();
});

/** Patience that fits a test: everything else is as it is by default. */
const HASTY = { retryBaseMs: 20, retryMaxMs: 200, requestTimeoutMs: 2_000 };

test('every event on a bad line is stored once, or told to a callback once', async () => {
  const rejected: RejectedEvent[] = [];
  const dropped: DroppedEvents[] = [];
  const problems: ClientProblem[] = [];
  const client = new Client({
    url: line.url,
    key: site.serverKey,
    ...HASTY,
    onRejected: (one) => rejected.push(one),
    onDropped: (one) => dropped.push(one),
    onError: (one) => problems.push(one),
  });
  const expected = { stored: [] as string[], old: [] as string[], robots: [] as string[] };
  for (let at = 0; at < EVENTS; at += 1) {
    const isOld = at % ODD === 7;
    const isRobot = at % ODD === 77;
    // A caller that gives the queue time, as one that is full takes nothing.
    if (client.pending >= 5_000) await client.flush({ deadlineMs: 600_000 });
    const tracked = client.track({
      event: 'Seen',
      distinctId: `visitor-${at % 500}`,
      ...(isOld ? { timestamp: new Date('2020-01-01') } : {}),
      properties: { at, ...(isRobot ? { client_user_agent: 'Googlebot/2.1 (+http://www.google.com/bot.html)' } : {}) },
    });
    if (!tracked.ok) throw new Error(tracked.code);
    expected[isOld ? 'old' : isRobot ? 'robots' : 'stored'].push(tracked.uuid);
  }
  expect(await client.shutdown({ deadlineMs: 600_000 })).toEqual({ ok: true, pending: 0 });

  expect(rejected.map(({ event }) => event.uuid)).toEqual(expected.old);
  expect(new Set(rejected.map(({ code }) => code))).toEqual(new Set(['timestamp_too_old']));
  expect(dropped.reduce((sum, { count }) => sum + count, 0)).toBe(expected.robots.length);
  const among = new Set(dropped.flatMap(({ events }) => events.map(({ uuid }) => uuid)));
  expect(expected.robots.filter((uuid) => !among.has(uuid))).toEqual([]);
  // All that went wrong on the way was tried again, and all of it did happen.
  expect(problems.filter(({ willRetry }) => !willRetry)).toEqual([]);
  expect(Object.entries(line.fates).filter(([, count]) => count === 0)).toEqual([]);
  const codes = ['answer_foreign', 'network_failed', 'rate_limited', 'timed_out', 'unavailable'];
  expect([...new Set(problems.map(({ code }) => code))].sort()).toEqual(codes);

  await untilCounted(service, site.site, expected.stored.length);
  expect((await storedIds(service, site.site)).sort()).toEqual(expected.stored.sort());
});

test.for([HOUR_MS, -HOUR_MS])('a clock that is %s ms off does not move events', async (offMs) => {
  const own = await makeSite(service);
  const runtime = { ...systemRuntime(undefined), nowMs: () => Date.now() + offMs };
  const client = new Client({ url: line.url, key: own.serverKey, ...HASTY, onError: () => undefined }, runtime);
  const ids: string[] = [];
  for (let at = 0; at < 500; at += 1) {
    const tracked = client.track({ event: 'Seen', distinctId: `visitor-${at}` });
    if (tracked.ok) ids.push(tracked.uuid);
  }
  expect(await client.shutdown({ deadlineMs: 600_000 })).toEqual({ ok: true, pending: 0 });
  await untilCounted(service, own.site, ids.length);
  expect((await storedIds(service, own.site)).sort()).toEqual(ids.sort());
  const { from, to } = await timesOff(service, own.site);
  expect([Math.abs(from) < 300, Math.abs(to) < 300]).toEqual([true, true]);
  await own.close();
});

test('over the allowance the last events of a request are told as dropped', async () => {
  const spent = await makeSite(service, { allowance: 10 });
  const dropped: DroppedEvents[] = [];
  const client = new Client({ url: service.ready.edge, key: spent.serverKey, onDropped: (one) => dropped.push(one) });
  const ids: string[] = [];
  for (let at = 0; at < 30; at += 1) {
    const tracked = client.track({ event: 'Seen', distinctId: 'visitor' });
    if (tracked.ok) ids.push(tracked.uuid);
  }
  expect(await client.shutdown()).toEqual({ ok: true, pending: 0 });
  // The allowance and its grace.
  expect(dropped).toMatchObject([{ reason: 'quota', count: 18 }]);
  expect(dropped[0]?.events.map(({ uuid }) => uuid)).toEqual(ids.slice(12));
  await untilCounted(service, spent.site, 12);
  expect((await storedIds(service, spent.site)).sort()).toEqual(ids.slice(0, 12).sort());
  await spent.close();
});
