import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FunnelAnswer } from '#pipelines/analytics/funnels/query.ts';
import type { PathsAnswer } from '#pipelines/analytics/paths.ts';
import type { RetentionAnswer } from '#pipelines/analytics/retention.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import { runDemo } from '#services/local/demo/run_demo.ts';
import { createWorld, type World } from '#services/local/demo/world/demo_world.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { axeViolations } from '../harness/axe.ts';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';
import { signedIn } from './harness/signed_in.ts';

const service = sharedService();
const { ready } = service;
const token = readFileSync(ready.adminTokenFile, 'utf8').trim();
const client = createControlClient(httpTransport(ready.control), token);
const VISITORS = 50;
const MONTH = '?period=30d';

let browser: TestBrowser;
let world: World;
beforeAll(async () => {
  const { shop, travel } = ready.demo;
  const identity = { seed: 24, run: 'dashboard' };
  const blockedIps = { shop: shop.blockedIp, travel: travel.blockedIp };
  world = createWorld({ ...identity, visitors: VISITORS, endsAt: Date.now(), blockedIps });
  const output = { isTTY: false, write: () => true };
  const around = { ready, client, output, coloured: false, now: Date.now, wait, random: Math.random };
  await runDemo(world, around, { concurrency: 8, timeoutMs: 60_000 });
  browser = await openBrowser('whole');
});
afterAll(() => browser?.close());

/** A question with a text in it that the page sends because of something, and what is answered to it. */
async function asked<Answer>(
  page: Page,
  name: string,
  text: string,
  act: () => Promise<unknown>,
): Promise<[object, Answer]> {
  const answered = page.waitForResponse(
    (response) =>
      response.url().endsWith(`/v1/query/shop/${name}`) && response.request().postData()?.includes(text) === true,
  );
  await act();
  const response = await answered;
  return [response.request().postDataJSON() as object, (await response.json()) as Answer];
}

/** What the API itself answers. */
const answerOf = <Answer>(name: string, question: object): Promise<Answer> =>
  client.query<Answer>('shop', name, { ...question, fresh: true });

/** Chooses what a picker offers. */
async function choose(page: Page, label: string, text: string): Promise<void> {
  const field = page.getByRole('combobox', { name: label, exact: true });
  await field.click();
  await field.fill(text);
  await page.getByRole('option', { name: text, exact: true }).click();
}

test('a funnel built by keyboard is the one that the API answers, and a bar lists as many people as it says', async () => {
  const page = await signedIn(service, browser, `/sites/shop/funnels${MONTH}`);
  await page.getByText('of step 1').first().waitFor();
  // Three steps are there; the third is moved to the front and back by keyboard, and one is added between.
  await page.getByRole('button', { name: 'Move step 3 up' }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Alt+ArrowDown');
  await page.getByText('Step 2 is now step 3').waitFor();
  await page.getByRole('button', { name: 'Add a step' }).focus();
  await page.keyboard.press('Enter');
  const added = page.getByRole('combobox', { name: 'Step 4: event', exact: true });
  await added.focus();
  await page.keyboard.type('view_item');
  await page.keyboard.press('Enter');
  for (const step of [4, 3]) {
    await page.getByRole('button', { name: `Move step ${step} up` }).focus();
    await page.keyboard.press('Enter');
  }
  await page.getByRole('checkbox', { name: 'Step 2 is optional' }).focus();
  const [question, shown] = await asked<FunnelAnswer>(page, 'funnel', '"optional":true', () =>
    page.keyboard.press('Space'),
  );
  expect(question).toMatchObject({
    steps: [
      { events: ['page_view'] },
      { events: ['view_item'], optional: true },
      { events: ['add_to_cart'] },
      { events: ['purchase'] },
    ],
  });
  const told = await answerOf<FunnelAnswer>('funnel', question);
  expect(shown.steps).toEqual(told.steps);
  expect(told.steps[3]?.reached).toBeGreaterThan(0);
  const reached = page.getByRole('button', { name: /: show who reached step/ });
  await expect
    .poll(() => reached.allTextContents())
    .toEqual(told.steps.map((step) => step.reached.toLocaleString('en-GB')));
  expect(await axeViolations(page)).toEqual([]);
  await reached.nth(3).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`${told.steps[3]?.reached} in all`).waitFor();
  expect(await dialog.locator('a[href*="/people/"]').count()).toBe(told.steps[3]?.reached);
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.reload();
  await expect.poll(() => reached.count()).toBe(4);
  await page.context().close();
});

test('a trend with a breakdown is the one that the API answers, and its points list who is there', async () => {
  const page = await signedIn(service, browser, `/sites/shop/trends${MONTH}`);
  await page.getByRole('button', { name: /show people, page_view$/ }).waitFor();
  await page.getByRole('combobox', { name: 'Series A: measure' }).selectOption('People');
  const [question, shown] = await asked<TrendsAnswer>(page, 'trends', 'action_source', () =>
    choose(page, 'Break down by', 'Action source'),
  );
  expect(question).toMatchObject({ breakdown: { fields: [{ column: 'action_source' }] } });
  const told = await answerOf<TrendsAnswer>('trends', question);
  expect(shown.series).toEqual(told.series);
  const values = told.series[0]?.breakdown ?? [];
  const totals = page.getByRole('region', { name: 'Totals' }).getByRole('button', { name: /show people/ });
  await expect.poll(() => totals.allTextContents()).toEqual(values.map(({ measured }) => String(measured)));
  expect(await axeViolations(page)).toEqual([]);
  await page.getByText('Show as a table').click();
  const busiest = values[0]?.intervals.toSorted((a, b) => b.persons - a.persons)[0];
  const cell = page.getByRole('region', { name: 'Trends' }).getByRole('button', { name: `${busiest?.persons}: show` });
  await cell.first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`${busiest?.persons} in all`).waitFor();
  expect(await dialog.locator('a[href*="/people/"]').count()).toBe(busiest?.persons);
  await page.context().close();
});

test('a retention grid is the one that the API answers, and a cell lists who came back', async () => {
  const page = await signedIn(service, browser, `/sites/shop/retention${MONTH}`);
  await page.getByRole('rowheader').first().waitFor();
  const [question, shown] = await asked<RetentionAnswer>(page, 'retention', 'recurring', () =>
    page.getByRole('combobox', { name: 'First-event mode' }).selectOption('Every one'),
  );
  const told = await answerOf<RetentionAnswer>('retention', question);
  expect(shown.cohorts).toEqual(told.cohorts);
  const grid = page.getByRole('region', { name: 'Retention by day' });
  const cells = grid.getByRole('button', { name: /show people of cohort .+ who returned after/ });
  const cohorts = told.cohorts.toSorted((a, b) => a.from - b.from);
  const expected = cohorts.flatMap(({ persons, returned }) =>
    returned.filter((back) => back > 0).map((back) => `${((back / persons) * 100).toFixed(1)}%`),
  );
  await expect.poll(() => cells.allTextContents()).toEqual(expected);
  expect(await axeViolations(page)).toEqual([]);
  const back = cohorts.flatMap(({ returned }) => returned).find((count) => count > 0) ?? 0;
  await cells.first().click();
  await page.getByRole('dialog').getByText(`${back} in all`).waitFor();
  expect(await page.getByRole('dialog').locator('a[href*="/people/"]').count()).toBe(back);
  await page.context().close();
});

test('paths are those that the API answers, and read as a table', async () => {
  const page = await signedIn(service, browser, `/sites/shop/paths${MONTH}`);
  await page.getByText('Transitions as a table').waitFor();
  const [question, shown] = await asked<PathsAnswer>(page, 'paths', '"starting_at":"add_to_cart"', () =>
    choose(page, 'Event', 'add_to_cart'),
  );
  const told = await answerOf<PathsAnswer>('paths', question);
  expect(shown.places).toEqual(told.places);
  await page.getByText(`${told.paths} paths`).waitFor();
  const [first] = told.places;
  expect(first?.values).toMatchObject([{ value: 'add_to_cart', paths: told.paths }]);
  expect(await axeViolations(page)).toEqual([]);
  await page.context().close();
});

test('a person is found by an address of which only the hash is sent, with timeline, devices and merges', async () => {
  const known = [...world.ledger.sites.shop.unique.values()].find(({ wire }) => 'email' in wire.properties);
  const email = String(known?.wire.properties['email']).trim();
  const page = await signedIn(service, browser, '/sites/shop/people');
  const sent: string[] = [];
  page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
  await page.getByLabel('E-mail address or id').fill(` ${email.toUpperCase()} `);
  await page.keyboard.press('Enter');
  const person = page.getByRole('link', { name: /^p_/ });
  await person.waitFor();
  const requests = sent.join().toLowerCase();
  expect(requests).not.toContain(encodeURIComponent(email.toLowerCase()));
  expect(requests).not.toContain(email.toLowerCase());
  expect(requests).toContain(createHash('sha256').update(email.toLowerCase()).digest('hex'));
  expect(await axeViolations(page)).toEqual([]);
  await person.click();
  await page.getByRole('tab', { name: 'Timeline' }).waitFor();
  expect(await page.getByRole('link', { name: known?.name ?? '', exact: true }).count()).toBeGreaterThan(0);
  for (const tab of ['Devices', 'Ids and merges']) {
    await page.getByRole('tab', { name: tab }).click();
    await page.getByRole('tabpanel').getByRole('table').first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
  }
  await page.context().close();
});

test('a question is saved on a new board, which shows its answer, and both can be removed', async () => {
  const page = await signedIn(service, browser, `/sites/shop/funnels${MONTH}`);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByLabel('Name', { exact: true }).fill('How many buy');
  await page.getByLabel('Board', { exact: true }).selectOption('New board');
  await page.getByLabel('Board name').fill('Monday');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved “How many buy”').waitFor();
  const reached = page.getByRole('button', { name: /: show who reached step/ });
  const before = await reached.allTextContents();
  const boards = new URL('/dashboard/sites/shop/boards', page.url()).href;
  await page.goto(boards);
  await page.getByRole('link', { name: 'Monday' }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.goto(`${boards}/monday${MONTH}`);
  await expect.poll(() => reached.allTextContents()).toEqual(before);
  expect(await axeViolations(page)).toEqual([]);
  await page.goto(boards);
  for (const name of ['Monday', 'How many buy']) {
    await page.getByRole('button', { name: `Remove ${name}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText(`Removed “${name}”`).waitFor();
  }
  await page.context().close();
});
