import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { until } from '#test/harness/until.ts';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';
import { knowsSite } from './harness/service_world.ts';

const { pages } = sharedService().ready.demo;
const { clickhouse, edge } = sharedService().ready;
/** A survey is not answered in less than a second. */
const READ_MS = 1_100;
/** A repetition would be behind the event that it repeats by no more. */
const SETTLING_MS = 1_500;

let browser: TestBrowser;
beforeAll(async () => {
  browser = await openBrowser('whole');
});
afterAll(() => browser.close());

interface Row {
  event: string;
  event_id: string;
  properties: string;
}

/** The rows of what visitors were shown, in the table itself, once there are so many, and a moment later. */
async function rowsOf(where: string, values: Record<string, string>, count: number): Promise<Row[]> {
  const rows = (): Promise<Row[]> =>
    select<Row>(
      clickhouse,
      `SELECT event, sent_id AS event_id, properties FROM event_rows
       WHERE site_id = 'shop' AND ${where}
         AND match(event, '^(survey_|form_|generate_lead|view_promotion|select_promotion|promotion_)')
       ORDER BY event, event_id`,
      values,
    );
  await until('the rows', rows, ({ length }) => length >= count, { timeoutMs: 60_000 });
  await sleep(SETTLING_MS);
  return rows();
}

/** Opens a page of the shop, and waits for what the edge says is shown on it. */
async function open(page: Page, path: string): Promise<string[]> {
  // The page before may have an answer under way.
  const isAboutIt = (request: Request): boolean =>
    request.url().startsWith(`${edge}/v1/engage`) && request.postData()?.includes(`"${pages}${path}"`) === true;
  const asked = page.waitForResponse((response) => isAboutIt(response.request()));
  await page.goto(pages + path);
  const { items = [] } = (await (await asked).json()) as { items?: { id: string }[] };
  return items.map(({ id }) => id);
}

const visitorOf = async (context: BrowserContext): Promise<string> =>
  (await context.cookies()).find(({ name }) => name === 'svc_did')?.value ?? '';

async function followPromo(page: Page): Promise<void> {
  expect(await open(page, '/lookbook')).toEqual(['evening-lamps']);
  const banner = page.getByRole('dialog', { name: '20 % off lamps this evening' });
  await banner.getByRole('button', { name: 'Copy' }).focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/category/lamps');
}

async function fillInForm(page: Page, email: string): Promise<void> {
  expect(await open(page, '/quote')).toEqual(['quote']);
  await page.getByRole('textbox', { name: 'E-mail' }).focus();
  await page.keyboard.type(email);
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Forty lamps');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.reload();
  await knowsSite(page);
}

async function answerSurvey(page: Page): Promise<void> {
  expect(await open(page, '/thank-you')).toEqual(['after-purchase']);
  const survey = page.getByRole('dialog', { name: 'How was it?' });
  await survey.getByRole('radio', { name: '0 not at all' }).focus();
  await sleep(READ_MS);
  await page.keyboard.press('Space');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await survey.getByText('What should be better?').waitFor();
  await page.reload();
  await survey.getByRole('checkbox', { name: 'The delivery' }).focus();
  await page.keyboard.press('Space');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await survey.getByText('We read every answer.').waitFor();
  await page.reload();
  await knowsSite(page);
}

/** Says on a page that shows nothing who the visitor is. */
async function identify(page: Page, email: string): Promise<void> {
  await page.goto(`${pages}/`);
  await knowsSite(page);
  await page.evaluate((address) => window.svc.identify({ email: address }), email);
  await page.waitForFunction(() => window.svc.status()['waiting'] === 0);
}

const PATHS = ['/lookbook', '/quote', '/thank-you'];

async function shownAnywhere(page: Page): Promise<string[]> {
  const shown: string[] = [];
  for (const path of PATHS) shown.push(...(await open(page, path)));
  return shown;
}

/** What the edge would show the page's visitor on another page, without that being a showing. */
function wouldShow(page: Page, paths: readonly string[]): Promise<number> {
  return page.evaluate(
    async ([base, all]) => {
      const { key } = document.querySelector<HTMLElement>('script[data-key]')?.dataset ?? {};
      const [, distinct_id] = /svc_did=([^;]+)/.exec(document.cookie) ?? [];
      const counts = all.map(async (path) => {
        const body = JSON.stringify({ page: { url: location.origin + path }, visitor: { distinct_id } });
        const answer = await fetch(`${base}/v1/engage?key=${key}`, { method: 'POST', body });
        return ((await answer.json()) as { items: unknown[] }).items.length;
      });
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    },
    [edge, paths] as const,
  );
}

test('a survey with branching, a promo and a form are answered by keyboard alone, arrive once and are not shown again', async () => {
  const email = `quote.${Date.now()}@mail.example`;
  const context = await browser.newContext();
  const page = await context.newPage();
  await followPromo(page);
  await fillInForm(page, email);
  await answerSurvey(page);
  const rows = await rowsOf('distinct_id = {visitor:String}', { visitor: await visitorOf(context) }, 7);
  expect(rows.map(({ event }) => event)).toEqual([
    'form_shown',
    'generate_lead',
    'select_promotion',
    'survey_answered',
    'survey_answered',
    'survey_shown',
    'view_promotion',
  ]);
  const answered = rows.filter(({ event }) => event === 'survey_answered').map(({ event_id }) => event_id.split(':'));
  expect(answered.map(([, , , status]) => status)).toEqual(['completed', 'partial']);
  expect(new Set(answered.map(([submission]) => submission)).size).toBe(1);
  const answers = rows.map(({ properties }) => JSON.parse(properties) as Record<string, unknown>);
  expect(answers.find((one) => one['survey_status'] === 'completed')).toMatchObject({
    answer_recommend: 1,
    answer_missing: ['delivery'],
    nps_class: 'detractor',
  });
  expect(await shownAnywhere(page)).toEqual([]);
  await identify(page, email);

  const second = await browser.newContext();
  const other = await second.newPage();
  await identify(other, email);
  const seen = (): Promise<number> => wouldShow(other, PATHS);
  await until('the second browser is known as the same person', seen, (count) => count === 0, { timeoutMs: 30_000 });
  expect(await shownAnywhere(other)).toEqual([]);
  expect(await other.locator('svc-engage').count()).toBe(0);
  await Promise.all([context.close(), second.close()]);
});

test('with scripts off the plain HTML form is a lead as well', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${pages}/quote?utm_source=letter`);
  const email = `plain.${Date.now()}@mail.example`;
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('You may write to me').check();
  await page.getByRole('button', { name: 'Ask for a quote' }).click();
  await page.getByText('we would write back').waitFor();
  const rows = await rowsOf('email_sha256 = {email:String}', { email: hash('sha256', email) }, 1);
  expect(rows.map(({ event }) => event)).toEqual(['generate_lead']);
  // The browser itself tells the edge no more than the page's origin.
  expect(JSON.parse(rows[0]?.properties ?? '{}')).toMatchObject({ utm_source: 'letter' });
  await context.close();
});
