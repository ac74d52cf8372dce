import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '#test/harness/until.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(() => world.reset());

test('however often the configuration fails, the tag has no more listeners, and asks at once when online again', async () => {
  const context = await world.visitor();
  const page = await context.newPage();
  let asked = 0;
  let listeners = 0;
  await page.exposeFunction('listens', () => {
    listeners += 1;
  });
  await page.addInitScript(() => {
    const { listens } = globalThis as unknown as { listens(): void };
    const add = window.addEventListener.bind(window);
    window.addEventListener = (...given: Parameters<typeof add>) => {
      if (given[0] === 'online') listens();
      add(...given);
    };
  });
  await page.route('**/v1/config*', (route) => {
    asked += 1;
    return route.fulfill({ status: 503, headers: { 'access-control-allow-origin': '*', 'retry-after': '60' } });
  });
  await page.goto(world.shop);
  const counts: number[] = [];
  for (const times of [1, 2, 3, 4]) {
    await until(
      'the request',
      () => asked,
      (count) => count === times,
      { timeoutMs: 10_000 },
    );
    await page.waitForTimeout(300);
    counts.push(listeners);
    await page.evaluate(() => dispatchEvent(new Event('online')));
  }
  expect(counts[0]).toBeGreaterThan(0);
  expect(new Set(counts).size).toBe(1);
  await context.close();
});
