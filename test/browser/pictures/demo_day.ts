import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { ActorsAnswer } from '#pipelines/analytics/people/query.ts';
import { type ControlClient, createControlClient, httpTransport } from '#services/control_api/client.ts';
import type { HealthItem } from '#services/control_api/destinations.ts';
import type { ErasureItem } from '#services/control_api/persons.ts';
import { childEnvironment } from '#test/harness/environment.ts';
import type { RunningService } from '#test/harness/service.ts';
import { until } from '#test/harness/until.ts';
import type { TestBrowser } from '../harness/chromium.ts';
import { knowsSite } from '../service/harness/service_world.ts';

/** What of the day pages are shown of. */
export interface ShownDay {
  eventId: string;
  personId: string;
  erasureId: string;
}

const DEMO = fileURLToPath(new URL('../../../services/local/demo/main.ts', import.meta.url));
const SITE = 'shop';
const DAY_MS = 86_400_000;
const ARRIVAL_MS = 120_000;
const ERASED_MS = 300_000;
/** A survey is not answered in less than a second. */
const READ_MS = 1_200;

const SAVED = [
  {
    ...{ id: 'page-to-purchase', name: 'From page to purchase', query: 'funnel' },
    question: {
      steps: ['page_view', 'view_item', 'add_to_cart', 'begin_checkout', 'purchase'].map((name) => ({
        events: [name],
      })),
      window_ms: 30 * DAY_MS,
    },
  },
  {
    ...{ id: 'purchases-by-country', name: 'Purchases by country', query: 'trends' },
    question: {
      ...{ interval: 'day', series: [{ events: ['purchase'] }] },
      breakdown: { fields: [{ column: 'country' }], limit: 5 },
    },
  },
];

/**
 * Plays the demo's day, sells to some visitors of the demo shop, of whom some answer its survey, saves a board, erases a person,
 * and breaks the shop's webhook, so that there is something to be seen on every page.
 */
export async function playDay(service: RunningService, browser: TestBrowser): Promise<ShownDay> {
  const { ready, dataDir } = service;
  const client = createControlClient(httpTransport(ready.control), readFileSync(ready.adminTokenFile, 'utf8').trim());
  await runDemo(join(dataDir, 'ready.json'));
  for (const rating of [10, 9, 6]) await visitShop(browser, ready.demo.pages, rating);
  await saveBoard(client);
  await client.send('POST', '/replays', null, {
    ...{ destination: 'meta', site_id: SITE, dry_run: true },
    ...{ from: Date.now() - DAY_MS, to: Date.now() },
  });
  const erasureId = await erasePerson(client);
  await breakWebhook(client, ready.demo.webhookStandin, () => visitShop(browser, ready.demo.pages, null));
  return { ...(await findShown(client)), erasureId };
}

function runDemo(readyFile: string): Promise<void> {
  const child = spawn(process.execPath, [DEMO, '--ready', readyFile], { env: childEnvironment({}), stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`the demo ended with ${code}`))));
  });
}

/** A visitor buys a lamp, and answers the survey of the last page where a rating is given. */
async function visitShop(browser: TestBrowser, shop: string, rating: number | null): Promise<void> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${shop}/product/desk-lamp`);
  await knowsSite(page);
  await page.getByRole('button', { name: 'Add to cart' }).click();
  await page.getByRole('link', { name: /^Cart/ }).click();
  await knowsSite(page);
  await page.getByRole('link', { name: 'Go to checkout' }).click();
  await page.getByLabel('Name').fill('Ada');
  await page.getByLabel('E-mail').fill(`ada.${rating ?? 'quiet'}@example.com`);
  await page.getByLabel('City').fill('London');
  await page.getByRole('button', { name: 'Place the order' }).click();
  await page.getByText(/^Your order/).waitFor();
  await knowsSite(page);
  if (rating !== null) await answerSurvey(page, rating);
  await page.waitForFunction(() => window.svc.status()['waiting'] === 0);
  await context.close();
}

async function answerSurvey(page: Page, rating: number): Promise<void> {
  const survey = page.getByRole('dialog', { name: 'How was it?' });
  await survey.getByRole('radio', { name: new RegExp(`^${rating}\\b`) }).focus();
  await page.waitForTimeout(READ_MS);
  await page.keyboard.press('Space');
  await page.keyboard.press('Enter');
  const isPromoter = rating >= 9;
  const answer = isPromoter
    ? survey.getByRole('radio', { name: 'From friends' })
    : survey.getByRole('checkbox', { name: 'The delivery' });
  await answer.focus();
  await page.keyboard.press('Space');
  await page.keyboard.press('Enter');
  if (!isPromoter) await page.keyboard.press('Enter');
  await survey.getByText('We read every answer.').waitFor();
}

async function saveBoard(client: ControlClient): Promise<void> {
  const range = { from: Date.now() - 7 * DAY_MS, to: Date.now() };
  for (const { question, ...item } of SAVED) {
    await client.send('POST', `/sites/${SITE}/questions`, null, { ...item, question: { ...question, ...range } });
  }
  const board = { id: 'monday', name: 'Monday', questions: SAVED.map(({ id }) => id) };
  await client.send('POST', `/sites/${SITE}/boards`, null, board);
}

/** The webhook's stand-in answers 503 from now on; a visit makes that show. */
async function breakWebhook(client: ControlClient, standin: string, visit: () => Promise<void>): Promise<void> {
  const rules = [{ fault: { kind: 'status', status: 503, body: 'over capacity' }, scope: `/${SITE}` }];
  const answer = await fetch(`${standin}/_standin/script`, { method: 'POST', body: JSON.stringify({ rules }) });
  if (!answer.ok) throw new Error(`the stand-in took no script: ${answer.status}`);
  await visit();
  const health = async (): Promise<HealthItem | undefined> => {
    const { items } = await client.get<{ items: HealthItem[] }>('/delivery-health', { site_id: SITE });
    return items.find(({ destination }) => destination === 'webhook');
  };
  await until('the webhook fails', health, (item) => item?.state === 'failing', { timeoutMs: ARRIVAL_MS });
}

/** Somebody who bought, until the webhook is told as well. */
async function erasePerson(client: ControlClient): Promise<string> {
  const { personId } = await findShown(client);
  const path = `/sites/${SITE}/persons/erase`;
  const { erasure_id } = await client.send<ErasureItem>('POST', path, null, {
    person_id: personId,
    distinct_ids_max: 100,
  });
  const isOver = ({ phase, destinations }: ErasureItem): boolean =>
    phase === 'done' && destinations.every(({ state }) => state !== 'pending');
  const read = (): Promise<ErasureItem> => client.get(`/sites/${SITE}/erasures/${erasure_id}`);
  await until('the person is erased', read, isOver, { timeoutMs: ERASED_MS });
  return erasure_id;
}

/** An order of the demo, and somebody who bought. */
async function findShown(client: ControlClient): Promise<Omit<ShownDay, 'erasureId'>> {
  const funnel = {
    ...{ from: Date.now() - DAY_MS, to: Date.now() + DAY_MS, window_ms: DAY_MS },
    steps: [{ events: ['view_item'] }, { events: ['purchase'] }],
  };
  const of = { funnel, step: 2, got: 'reached' };
  const { actors } = await client.query<ActorsAnswer>(SITE, 'actors', { of, limit: 1 });
  const { events } = await client.query<Listing>(SITE, 'live', { events: ['purchase'], limit: 1 });
  const [actor, event] = [actors[0], events[0]];
  if (actor === undefined || event === undefined) throw new Error('nobody bought anything');
  return { personId: actor.person_id, eventId: actor.event_id === '' ? event.event_id : actor.event_id };
}
