import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { handedOut, showOn, type Told, told, toldTo } from './harness/engage_pages.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.reset();
  world.configure({ tag: { inventory: false, engage: true } });
});

const SURVEY = handedOut('survey', {
  id: 'nps',
  title: 'Two minutes',
  questions: [
    { id: 'why', type: 'open', text: 'Why' },
    { id: 'more', type: 'open', text: 'More' },
  ],
});
const fields = [{ name: 'email', type: 'email', label: 'E-mail', required: true, map: 'email' }];
const form = (minMs: number): object =>
  handedOut('form', { id: 'quote', title: 'A quote', fields, spam: { min_ms: minMs } });
const keptOn = (page: Page): Promise<string> => page.evaluate(() => localStorage.getItem('svc_e') ?? '');
const closed = (page: Page): Promise<unknown> =>
  page.waitForFunction(() => !document.querySelector('svc-engage'), undefined, { timeout: 3_000 });

/** The visitor has answered the first question of a survey in their own words. */
async function halfAnswered(page: Page): Promise<void> {
  await page.getByLabel('Why').fill('my own words');
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByLabel('More').waitFor();
  await told(world, 'surveys/respond', 2);
  expect(await keptOn(page)).toContain('my own words');
}

test('after a reset a survey of the visitor before closes, in other tabs too, and the next one is asked about anew', async () => {
  showOn(world, [SURVEY]);
  const context = await world.visitor();
  const [page, other] = [await world.visit(context), await world.visit(context, '/next')];
  await other.bringToFront();
  await other.getByLabel('Why').waitFor();
  await page.bringToFront();
  await halfAnswered(page);
  showOn(world, []);
  // That it was shown in each tab, and the answer.
  const before = (await told(world, 'surveys/respond', 3)).length;
  const idOf = ({ visitor }: Told): unknown => visitor['distinct_id'];
  const visitor = idOf(toldTo(world, 'engage')[0] as Told);
  await page.evaluate(() => window.svc.reset());
  await Promise.all([closed(page), closed(other)]);
  // What a tab asked as the item was shown in the other may still be on its way.
  const ofNext = (): Told[] => toldTo(world, 'engage').filter((one) => idOf(one) !== visitor);
  await expect.poll(() => ofNext().length).toBeGreaterThan(0);
  expect(ofNext().map(({ seen }) => seen)).toEqual(ofNext().map(() => ({})));
  expect([toldTo(world, 'surveys/respond').length, await keptOn(page)]).toEqual([before, '']);
  await context.close();
});

test('a log-out that loads the page again leaves nothing of a survey to the next visitor', async () => {
  showOn(world, [SURVEY]);
  const context = await world.visitor();
  const page = await world.visit(context);
  await halfAnswered(page);
  showOn(world, []);
  const asked = toldTo(world, 'engage').length;
  await page.evaluate(() => {
    window.svc.reset();
    location.reload();
  });
  await told(world, 'engage', asked + 1);
  await page.waitForTimeout(300);
  expect(await page.locator('svc-engage').count()).toBe(0);
  expect(await keptOn(page)).not.toContain('my own words');
  await context.close();
});

type Late = { late: (() => void)[] };
/** What waits for more than half a minute goes when the test says so. */
const holdLate = (): void => {
  const { setTimeout: wait } = window;
  const late: Late['late'] = [];
  const held = (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]): unknown =>
    (ms ?? 0) > 30_000 ? late.push(() => run(...args)) : wait(run, ms, ...args);
  Object.assign(window, { late, setTimeout: held });
};

test.for([
  ['refuses', () => window.svc.consent({ analytics: false })],
  ['is another', () => window.svc.reset()],
] as const)('a form that waits for its time is not sent once the visitor %s', async ([, change]) => {
  showOn(world, [form(60_000)]);
  const context = await world.visitor();
  await context.addInitScript(holdLate);
  const page = await world.visit(context);
  await page.getByLabel('E-mail').fill('ada@mail.example');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Sending').waitFor();
  showOn(world, []);
  await page.evaluate(change);
  await closed(page);
  const isDue = await page.evaluate(() => (window as unknown as Late).late.map((run) => run()).length);
  await page.waitForTimeout(300);
  expect([isDue, toldTo(world, 'form').map(({ status }) => status)]).toEqual([1, ['shown']]);
  expect(await keptOn(page)).not.toContain('ada@');
  await context.close();
});

test('an answer that comes after a reset leaves nothing with the next visitor', async () => {
  showOn(world, [form(0)]);
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.getByLabel('E-mail').fill('ada@mail.example');
  await told(world, 'form', 1);
  const wrong = { error: { code: 'form_invalid', fields: [{ name: 'email', code: 'format' }] } };
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  await page.route('**/v1/form?*', async (route) => {
    await answered;
    await route.fulfill({ status: 400, json: wrong, headers: { 'access-control-allow-origin': '*' } });
  });
  const sent = page.waitForRequest('**/v1/form?*');
  await page.getByRole('button', { name: 'Send' }).click();
  await sent;
  showOn(world, []);
  const heard = page.waitForResponse('**/v1/form?*');
  await page.evaluate(() => window.svc.reset());
  answer();
  await heard;
  await page.waitForTimeout(300);
  expect(await keptOn(page)).toBe('');
  await context.close();
});

test('a form whose page’s clock is set back is sent when its time has gone by all the same', async () => {
  showOn(world, [form(700)]);
  const context = await world.visitor();
  await context.addInitScript(() => {
    const now = Date.now;
    Date.now = () => now() - ((window as { backMs?: number }).backMs ?? 0);
  });
  const page = await world.visit(context);
  await page.getByLabel('E-mail').fill('ada@mail.example');
  await page.evaluate(() => Object.assign(window, { backMs: 3_600_000 }));
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Thank you').waitFor({ timeout: 5_000 });
  await context.close();
});
