import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '#test/harness/until.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(() => world.reset());

/** How many wait, how many there were, and after how many milliseconds those ended that nobody cleared. */
interface Timers {
  open: number;
  made: number;
  ended: number[];
}

test('a page on which nothing happens has no timer', async () => {
  const context = await world.visitor();
  await context.addInitScript(() => {
    const open = new Set<number>();
    const ended: number[] = [];
    let made = 0;
    const { setTimeout: later, clearTimeout: forget } = window;
    Object.assign(window, {
      timers: () => ({ open: open.size, made, ended }),
      setTimeout(run: () => void, ms?: number, ...given: []) {
        made += 1;
        const id: number = later(() => {
          open.delete(id);
          ended.push(ms ?? 0);
          run(...given);
        }, ms);
        open.add(id);
        return id;
      },
      clearTimeout(id: number) {
        open.delete(id);
        forget(id);
      },
      setInterval() {
        throw new Error('an interval never rests');
      },
    });
  });
  const page = await world.visit(context, '/');
  await page.evaluate(() => window.svc.track('purchase'));
  await world.taken('purchase');
  const timers = (): Promise<Timers> => page.evaluate(() => (window as unknown as { timers(): Timers }).timers());
  const { made, ended } = await until('rest', timers, ({ open }) => open === 0, { timeoutMs: 15_000, everyMs: 500 });
  // One waits for the configuration, and none for the store, which has answered.
  expect(ended.filter((ms) => ms === 2_000)).toHaveLength(1);
  await page.waitForTimeout(3_000);
  expect(await timers()).toEqual({ open: 0, made, ended });
  await context.close();
});
