import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedService } from '#test/harness/shared_service.ts';
import { openProfile } from '../harness/chromium.ts';
import { attempts } from '../harness/config.ts';
import { openServiceWorld, type ServiceWorld, track, visit } from './harness/service_world.ts';

const KILLED_AFTER_MS = 250;
const MS_A_KILL = 10_000;
const SLACK_MS = 90_000;
const { kills } = attempts();

let world: ServiceWorld;
let profile: string;
beforeAll(async () => {
  world = await openServiceWorld(sharedService());
  profile = mkdtempSync(join(tmpdir(), 'chromium-killed-'));
});
afterAll(async () => {
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  await world.close();
});

test(`of ${kills} browsers killed a quarter of a second after a purchase, with the edge away, the next visit loses nothing`, {
  timeout: kills * MS_A_KILL + SLACK_MS,
}, async () => {
  const ids: string[] = [];
  for (let count = 0; count < kills; count += 1) {
    const { context, kill } = await openProfile(profile);
    const page = await visit(context, `${world.shop}/`);
    // Nothing but the store on disk can save it now.
    world.edgeProxy.setAway(true);
    ids.push(await track(page, 'purchase', { value: 12.5, currency: 'EUR' }));
    await sleep(KILLED_AFTER_MS);
    await kill();
    world.edgeProxy.setAway(false);
  }
  const { context, close } = await openProfile(profile);
  await visit(context, `${world.shop}/`);
  const rows = await world.settledRows('purchase', kills);
  expect(rows.map(({ event_id }) => event_id).sort()).toEqual(ids.sort());
  await close();
});
