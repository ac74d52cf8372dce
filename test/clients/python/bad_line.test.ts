import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BadLine, startBadLine } from '#test/clients/bad_line.ts';
import { timesOff, untilCounted } from '#test/clients/stored.ts';
import { cases, testSeed } from '#test/harness/environment.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { runSender } from './sender.ts';

const EVENTS = cases(100_000);
const HOUR_S = 3_600;

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

const numbers = (rest: number): number[] =>
  Array.from({ length: EVENTS }, (_, at) => at).filter((at) => at % 1_000 === rest);

test('every event on a bad line is stored once, or told to a callback once', async () => {
  const run = await runSender({ url: line.url, key: site.serverKey, first: 0, last: EVENTS, odd: true });
  expect([run.isDone, run.ids.size]).toEqual([true, EVENTS]);
  expect(run.told.get('rejected:timestamp_too_old')).toEqual(numbers(7));
  // The service says how many it filtered; those named are the ones among which they are.
  const among = new Set(run.told.get('dropped:filtered'));
  expect(numbers(77).filter((at) => !among.has(at))).toEqual([]);
  expect([...run.told.keys()].sort()).toEqual(['dropped:filtered', 'rejected:timestamp_too_old']);
  // All that went wrong on the way was tried again, and all of it did happen.
  expect([...new Set(run.errors)].sort()).toEqual(['answer_foreign again', 'network_failed again']);
  expect(Object.entries(line.fates).filter(([, count]) => count === 0)).toEqual([]);

  const stored = [...run.ids].filter(([at]) => at % 1_000 !== 7 && at % 1_000 !== 77).map(([, id]) => id);
  await untilCounted(service, site.site, stored.length);
  expect((await storedIds(service, site.site)).sort()).toEqual(stored.sort());
});

test.for([HOUR_S, -HOUR_S])('a clock that is %s s off does not move events', async (clockOff) => {
  const own = await makeSite(service);
  const run = await runSender({ url: line.url, key: own.serverKey, first: 0, last: 500, clock_off: clockOff });
  expect([run.isDone, run.ids.size]).toEqual([true, 500]);
  await untilCounted(service, own.site, 500);
  expect((await storedIds(service, own.site)).sort()).toEqual([...run.ids.values()].sort());
  const { from, to } = await timesOff(service, own.site);
  expect([Math.abs(from) < 300, Math.abs(to) < 300]).toEqual([true, true]);
  await own.close();
});

test('over the allowance the last events of a request are told as dropped', async () => {
  const spent = await makeSite(service, { allowance: 10 });
  const run = await runSender({ url: service.ready.edge, key: spent.serverKey, first: 0, last: 30 });
  expect([run.isDone, run.told.get('dropped:quota')?.length]).toEqual([true, 18]);
  const dropped = new Set(run.told.get('dropped:quota'));
  const stored = [...run.ids].filter(([at]) => !dropped.has(at)).map(([, id]) => id);
  await untilCounted(service, spent.site, 12);
  expect((await storedIds(service, spent.site)).sort()).toEqual(stored.sort());
  await spent.close();
});
