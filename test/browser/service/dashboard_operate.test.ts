import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { standin as meta } from '#services/local/platforms/meta.ts';
import { type Standin, startPlatform } from '#services/local/platforms/standin.ts';
import { newEvent, postEvents, type SentEvent } from '#test/harness/ingest.ts';
import { plantDeadLetters } from '#test/harness/letter_planter.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { axeViolations } from '../harness/axe.ts';
import { openBrowser, type TestBrowser, USER_AGENT } from '../harness/chromium.ts';
import { signedIn } from './harness/signed_in.ts';

const service = sharedService();
const { edge } = service.ready;
const PIXEL = '5550001111';
const TOKEN = 'token-that-works';
const TEST_MS = 60_000;
const WAIT_MS = 30_000;

/** Events that the platform finds fault with. */
const refusedIds = new Set<string>();
let platform: Standin;
let site: TestSite;
let browser: TestBrowser;
beforeAll(async () => {
  platform = await startPlatform(meta, { accounts: { [PIXEL]: [TOKEN] }, refusedIds });
  site = await makeSite(service);
  browser = await openBrowser('whole');
});
afterAll(async () => {
  await browser.close();
  await site.close();
  await platform.stop();
});

const open = (path: string): Promise<Page> => signedIn(service, browser, path);

async function sendPurchases(count: number): Promise<string[]> {
  const properties = { email: 'ada@shop.example', client_user_agent: USER_AGENT, value: 20, currency: 'EUR' };
  const events = Array.from({ length: count }, (): SentEvent => newEvent({ event: 'purchase', properties }));
  expect((await postEvents(edge, site.serverKey, events)).status).toBe(200);
  return events.map(({ uuid }) => uuid);
}

/** How often the platform has counted each event. */
const counted = (ids: readonly string[]): number[] => {
  const { events } = platform.ledger.page(0, 1_000);
  return ids.map((id) => events.find(({ event_id }) => event_id === id)?.times ?? 0);
};

/** Looks at the page again until it says something, as somebody does who waits for it. */
async function reloadedUntil(page: Page, text: string | RegExp): Promise<void> {
  const isThere = async (): Promise<boolean> => {
    await page.reload();
    await page.getByRole('dialog').getByText(text).first().waitFor({ timeout: 2_000 });
    return true;
  };
  await until(`the page to say ${text}`, isThere, (there) => there, { timeoutMs: WAIT_MS });
}

test('a destination is added, broken, seen, healed and replayed by clicks', { timeout: 2 * TEST_MS }, async () => {
  const page = await open(`/sites/${site.site}/destinations`);
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Add destination' }).click();
  await dialog.getByLabel('Platform').selectOption('Meta Conversions API');
  await dialog.getByLabel('Pixel or dataset id').fill(PIXEL);
  await dialog.getByLabel('Access token').fill('token-that-was-revoked');
  await dialog.getByText(/more settings$/).click();
  await dialog.getByLabel('Fallback page address (optional)').fill('https://shop.example/');
  await dialog.getByLabel('Address (optional)', { exact: true }).fill(platform.url);
  await dialog.getByLabel('Enable now').check();
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('Meta Conversions API was added').waitFor();

  await dialog.getByRole('tab', { name: 'Test event' }).click();
  await dialog.getByRole('button', { name: 'Send test event' }).click();
  await dialog.getByText('Error validating access token.').waitFor();
  await dialog.getByText('The platform rejects the credentials.').waitFor();
  const waiting = await sendPurchases(3);
  await dialog.getByRole('tab', { name: 'Health' }).click();
  await reloadedUntil(page, '3 events are waiting, to be sent after that automatically.');
  await dialog.getByText('Nothing is sent until its settings are changed.').waitFor();
  expect(counted(waiting)).toEqual([0, 0, 0]);

  await dialog.getByRole('tab', { name: 'Settings' }).click();
  await dialog.getByLabel('Access token').fill(TOKEN);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved the settings of Meta Conversions API').waitFor();
  await expect.poll(() => counted(waiting), { timeout: WAIT_MS }).toEqual([1, 1, 1]);

  const [well, ...ill] = await sendOneWell(2);
  await dialog.getByRole('tab', { name: 'Health' }).click();
  await reloadedUntil(page, '2 events');
  await dialog.getByRole('tab', { name: 'Attempts' }).click();
  await dialog.getByLabel('Outcome').selectOption('Failed');
  await dialog.getByText('As told.').nth(1).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  const event = await dialog.getByRole('link', { name: 'purchase' }).first().getAttribute('href');
  expect(ill.map((id) => `/dashboard/sites/${site.site}/events/${id}`)).toContain(event);
  await dialog.getByRole('tab', { name: 'Health' }).click();
  refusedIds.clear();
  await dialog.getByRole('link', { name: 'Replay them' }).click();
  await dialog.getByRole('button', { name: 'Count events' }).click();
  await dialog.getByText(/^2 events to send, 0 already delivered/).waitFor({ timeout: TEST_MS });
  await dialog.getByRole('button', { name: 'Send 2 events' }).click();
  await page.getByRole('heading', { name: 'Replay to Meta Conversions API' }).waitFor();
  await dialog.getByText('Done').waitFor({ timeout: WAIT_MS });
  await expect.poll(() => counted([...waiting, well ?? '', ...ill]), { timeout: WAIT_MS }).toEqual([1, 1, 1, 1, 1, 1]);
  await page.context().close();
});

/** Sends one event that the platform takes and some that it refuses, and waits until it has looked at them. */
async function sendOneWell(ill: number): Promise<string[]> {
  const events = Array.from({ length: ill + 1 }, (): SentEvent => {
    const properties = { email: 'bo@shop.example', client_user_agent: USER_AGENT, value: 5, currency: 'EUR' };
    return newEvent({ event: 'purchase', distinct_id: 'bo', properties });
  });
  const ids = events.map(({ uuid }) => uuid);
  for (const id of ids.slice(1)) refusedIds.add(id);
  expect((await postEvents(edge, site.serverKey, events)).status).toBe(200);
  await expect.poll(() => counted(ids.slice(0, 1)), { timeout: WAIT_MS }).toEqual([1]);
  return ids;
}

test('a dead letter is found by its reason, sent in again, and its event is a row; another is resolved with a note', async () => {
  const reason = 'planted_here';
  const fields = { site_id: site.site, distinct_id: 'late', received_at: Date.now(), timestamp: Date.now() };
  const ids = ['first', 'second', 'third'].map((name) => `${site.site}-${name}`);
  await plantDeadLetters(
    service,
    ids.map((event_id) => sampleEvent({ ...fields, event_id })),
    reason,
  );
  const page = await open('/dead-letters?period=24h');
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: reason }).click();
  await page.getByRole('heading', { name: `warehouse: ${reason}` }).waitFor();
  const deadLetters = page.getByRole('region', { name: 'Dead letters', exact: true }).getByRole('row');
  expect(await deadLetters.count()).toBe(4);
  await deadLetters.nth(1).getByRole('button').click();
  await dialog.getByRole('cell', { name: site.site, exact: true }).waitFor();
  await dialog.getByRole('button', { name: 'Resend' }).click();
  await page.getByText('1 dead letter resent').waitFor();
  await dialog.getByText('Resent').first().waitFor();
  await page.keyboard.press('Escape');
  // The list is of those that are open.
  await expect.poll(() => deadLetters.count(), { timeout: WAIT_MS }).toBe(3);
  await deadLetters.nth(1).getByRole('button').click();
  await dialog.getByRole('button', { name: 'Resolve' }).click();
  expect(await axeViolations(page)).toEqual([]);
  await dialog.getByLabel('Resolution note').fill('A test that nobody misses.');
  await dialog.getByRole('button', { name: 'Resolve', exact: true }).last().click();
  await page.getByText('1 dead letter resolved').waitFor();
  await dialog.getByText('A test that nobody misses.').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Resend all (1)' }).click();
  await page.getByRole('button', { name: 'Resend', exact: true }).click();
  await page.getByRole('button', { name: reason }).waitFor({ state: 'hidden' });
  await page.getByLabel('Status').selectOption('resolved');
  await page.getByRole('button', { name: reason }).click();
  await page.getByRole('cell', { name: 'A test that nobody misses.' }).waitFor();
  await expect.poll(async () => (await storedOf(ids)).length, { timeout: WAIT_MS }).toBe(2);
  await page.context().close();
});

async function storedOf(ids: readonly string[]): Promise<string[]> {
  const stored = await storedIds(service, site.site);
  return ids.filter((id) => stored.filter((one) => one === id).length === 1);
}

test('a key is issued, rotated and revoked by clicks, and the edge knows at once', async () => {
  const page = await open(`/sites/${site.site}/keys`);
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Issue a key' }).click();
  await dialog.getByLabel('Used by').selectOption('Servers: secret');
  await dialog.getByLabel('Label').fill('Till');
  await dialog.getByRole('button', { name: 'Issue', exact: true }).click();
  const first = await secretIn(page);
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  await answered(first, 200);
  await page.getByRole('row', { name: /Till/ }).getByRole('button').click();
  await dialog.getByLabel('The old key keeps working for').selectOption('Revoke it now');
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  const second = await secretIn(page);
  expect(second).not.toBe(first);
  await answered(second, 200);
  await answered(first, 403);
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  await page.keyboard.press('Escape');
  await page
    .getByRole('row', { name: /Till .* Active/ })
    .getByRole('button')
    .click();
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog', { name: 'Revoke the key?' }).getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('The key was revoked').waitFor();
  await answered(second, 403);
  await page.context().close();
});

/** A server key that is shown. */
async function secretIn(page: Page): Promise<string> {
  const shown = page.getByRole('dialog').getByText(/^svc_sk_\w{32}$/);
  await shown.waitFor();
  return (await shown.textContent()) ?? '';
}

/** Within the two seconds that a change of settings may take to reach the edge. */
async function answered(key: string, status: number): Promise<void> {
  const asked = async (): Promise<number> => (await postEvents(edge, key, [newEvent()])).status;
  await expect.poll(asked, { timeout: 2_000 }).toBe(status);
}
