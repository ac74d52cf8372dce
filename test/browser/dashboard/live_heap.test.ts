import type { CDPSession } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { liveMinutes } from '../harness/config.ts';
import { setHidden } from './harness/hide_page.ts';
import { withLive } from './harness/live_answers.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

const EVENTS_PER_SECOND = 200;
const HEAP_MB_MAX = 50;
const MINUTE_MS = 60_000;
/** Long enough for two questions of Live, which asks every second. */
const HIDDEN_MS = 2_500;
const UNDER_WAY_MS = 300;
const OPENING_MS = 60_000;

const MINUTES = liveMinutes();
const LIVE_MS = MINUTES * MINUTE_MS;

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

/** What the page's scripts keep, in MB, after what they no longer keep was collected. */
async function heapMb(tools: CDPSession): Promise<number> {
  await tools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await tools.send('Runtime.getHeapUsage');
  return usedSize / 1_000_000;
}

test('Live keeps little however long it is open, and asks nothing while it is hidden', {
  timeout: LIVE_MS + OPENING_MS,
}, async () => {
  const api = withLive(withTraffic(startStubApi()), Date.now() - MINUTE_MS, EVENTS_PER_SECOND);
  const { page, context, faults } = await dashboard.visit('/sites/shop/live', api);
  await page.getByText('not shown').waitFor();
  const tools = await context.newCDPSession(page);
  const heaps: number[] = [await heapMb(tools)];
  for (const endsAt = performance.now() + LIVE_MS; performance.now() < endsAt; ) {
    await page.waitForTimeout(Math.min(MINUTE_MS, endsAt - performance.now()));
    heaps.push(await heapMb(tools));
    if (MINUTES >= 1) console.log(`Live, minute ${heaps.length - 1}: a heap of ${heaps.at(-1)?.toFixed(1)} MB`);
  }
  const seen = await page.locator('.live-bar .strong').textContent();
  await setHidden(page, true);
  // One may have been under way when the page was hidden.
  await page.waitForTimeout(UNDER_WAY_MS);
  const asked = api.requests.length;
  await page.waitForTimeout(HIDDEN_MS);
  const whileHidden = api.requests.length - asked;
  await setHidden(page, false);
  await page.waitForTimeout(HIDDEN_MS);

  console.log(
    `Live for ${MINUTES} minutes: ${seen} events seen, a heap of ${heaps.at(-1)?.toFixed(1)} MB (at most ${Math.max(...heaps).toFixed(1)}), ${whileHidden} requests while hidden`,
  );
  expect(Number(seen?.replaceAll(',', ''))).toBeGreaterThan((LIVE_MS / 1_000) * EVENTS_PER_SECOND * 0.9);
  expect(Math.max(...heaps)).toBeLessThanOrEqual(HEAP_MB_MAX);
  expect(whileHidden).toBe(0);
  expect(api.requests.length).toBeGreaterThan(asked);
  expect(faults).toEqual([]);
  await context.close();
});
