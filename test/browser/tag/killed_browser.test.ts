import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProfile } from '../harness/chromium.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld('whole');
  await world.reset();
});
afterAll(() => world.close());

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('what was tracked a quarter of a second before the browser was killed the next visit sends', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chromium-profile-'));
  const first = await openProfile(folder);
  const page = await world.visit(first.context);
  await world.settled(page);
  world.edgeProxy.setAway(true);
  const uuid = await page.evaluate(() => window.svc.track('purchase'));
  await sleep(250);
  await first.kill();
  world.edgeProxy.setAway(false);
  await sleep(5000);
  const second = await openProfile(folder);
  await world.visit(second.context);
  const purchases = await world.taken('purchase');
  expect(purchases.map((purchase) => purchase.uuid)).toEqual([uuid]);
  await second.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});
