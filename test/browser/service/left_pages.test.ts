import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedService } from '#test/harness/shared_service.ts';
import { attempts } from '../harness/config.ts';
import { knowsSite, openServiceWorld, type ServiceWorld, track, visit } from './harness/service_world.ts';

/** Tabs that are open at a time: more would only wait for the processor. */
const AT_ONCE = 4;
/** On a quiet machine a tenth of it; a long run on a busy one may take it. */
const MS_AN_ATTEMPT = 2_000;
const SLACK_MS = 90_000;
const { closes, navigations } = attempts();

let world: ServiceWorld;
beforeAll(async () => {
  world = await openServiceWorld(sharedService());
});
afterAll(() => world.close());

const idsOf = (rows: { event_id: string }[]): string[] => rows.map(({ event_id }) => event_id).sort();

test(`of ${closes} tabs closed right after a purchase none is lost and none is doubled`, {
  timeout: closes * MS_AN_ATTEMPT + SLACK_MS,
}, async () => {
  const ids: string[] = [];
  let begun = 0;
  const closeTabs = async (): Promise<void> => {
    while (begun < closes) {
      begun += 1;
      // A visitor of their own each, as a connection that is open already makes it easier.
      const context = await world.browser.newContext();
      const page = await visit(context, `${world.shop}/`);
      ids.push(await track(page, 'purchase', { value: 12.5, currency: 'EUR' }));
      // Not the visitor's context: that would be the end of their browser.
      await page.close();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, closeTabs));
  expect(new Set(ids).size).toBe(closes);
  expect(idsOf(await world.settledRows('purchase', closes))).toEqual(ids.sort());
});

test(`of ${navigations} links followed right after an event none is lost and none is doubled`, {
  timeout: navigations * MS_AN_ATTEMPT + SLACK_MS,
}, async () => {
  const context = await world.browser.newContext();
  const page = await visit(context, `${world.shop}/`);
  const ids: string[] = [];
  for (let count = 0; count < navigations; count += 1) {
    ids.push(
      await page.evaluate(() => {
        const id = window.svc.track('add_to_cart', { value: 3 });
        document.querySelector('a')?.click();
        return id;
      }),
    );
    await page.waitForURL('**/next');
    await knowsSite(page);
    await page.goto(`${world.shop}/`);
    await knowsSite(page);
  }
  expect(idsOf(await world.settledRows('add_to_cart', navigations))).toEqual(ids.sort());
  await context.close();
});
