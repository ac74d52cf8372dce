import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedService } from '#test/harness/shared_service.ts';
import { openServiceWorld, type ServiceWorld, track, visit } from './harness/service_world.ts';

const AWAY_MS = 30_000;
const TABS = 3;
const EVENTS = 200;
const REQUESTS_MAX = 12;

let world: ServiceWorld;
beforeAll(async () => {
  world = await openServiceWorld(sharedService());
});
afterAll(() => world.close());

test('200 events of three tabs while the edge is away for 30 s are 200 rows, with 12 requests meanwhile at most', {
  timeout: 180_000,
}, async () => {
  const context = await world.browser.newContext();
  const tabs = await Promise.all(Array.from({ length: TABS }, () => visit(context, `${world.shop}/`)));
  await world.settledRows('$pageview', TABS);
  let requests = 0;
  context.on('request', (request) => {
    if (request.method() === 'POST' && request.url().startsWith(`${world.collector}/v1/ingest`)) requests += 1;
  });
  const begunMs = performance.now();
  world.edgeProxy.setAway(true);
  const ids: string[] = [];
  for (let count = 0; count < EVENTS; count += 1) {
    const tab = tabs[count % TABS];
    if (tab !== undefined) ids.push(await track(tab, 'step', { count }));
    await sleep(50);
  }
  await sleep(Math.max(0, AWAY_MS - (performance.now() - begunMs)));
  const meanwhile = requests;
  world.edgeProxy.setAway(false);
  const rows = await world.settledRows('step', EVENTS);
  expect(rows.map(({ event_id }) => event_id).sort()).toEqual(ids.sort());
  expect(meanwhile).toBeGreaterThan(0);
  expect(meanwhile).toBeLessThanOrEqual(REQUESTS_MAX);
  await context.close();
});
