import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Role } from '#pipelines/settings/access.ts';
import { randomBase62 } from '#pipelines/settings/secrets.ts';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';
import { html, startPageServer } from '../harness/page_server.ts';
import { signedInByHand } from './harness/signed_in.ts';

const service = sharedService();
const { control, edge } = service.ready;
const client = createControlClient(httpTransport(control), readFileSync(service.ready.adminTokenFile, 'utf8').trim());

let browser: TestBrowser;
let site: TestSite;
beforeAll(async () => {
  browser = await openBrowser('whole');
  site = await makeSite(service);
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

/** Makes a user who may do something in one place, and signs in as them on the page. */
async function comeAs(role: Role, place: { site_id: string } | { account_id: string }, path: string): Promise<Page> {
  const user = `u-${randomUUID().slice(0, 8)}`;
  const password = randomUUID();
  await client.send('POST', '/users', null, { user_id: user, name: role, grants: [{ role, ...place }], password });
  return signedInByHand(service, browser, path, { user, password });
}

async function leave(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account of/ }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.context().close();
}

test('whoever gives a wrong password is told so, and nothing else', async () => {
  const page = await signedInByHand(service, browser, '/', { user: 'nobody', password: 'no such password' });
  await page.getByText('Wrong user or password').waitFor();
  expect(await page.getByRole('navigation').count()).toBe(0);
  await page.context().close();
});

const FIGURES = [
  'Overview',
  'Rejected events',
  'Funnels',
  'Trends',
  'Retention',
  'Paths',
  'Cohorts',
  'Boards',
  'Alerts',
];
const OF_SITE = ['Event definitions', 'Surveys and forms', 'Site settings', 'Account', 'IP Geolocation by DB-IP'];
const DELIVER = ['Destinations', 'Dead letters', 'Replays', 'Keys'];

interface RoleLimits {
  /** Pages in the navigation beside those of every role. */
  listed: string[];
  /** A page that is refused though its address is typed. */
  refused: string | null;
  /** A page, and whether its button to change something is there. */
  changes: [page: string, button: string, isThere: boolean][];
}

const ROLE_LIMITS: [Role, RoleLimits][] = [
  ['viewer', { listed: [], refused: 'live', changes: [['settings', 'Save', false]] }],
  [
    'analyst',
    {
      listed: ['Live', 'People', 'Destinations', 'Install'],
      refused: 'keys',
      changes: [['destinations', 'Add destination', false]],
    },
  ],
  [
    'operator',
    {
      listed: ['Live', ...DELIVER, 'Install'],
      refused: 'people',
      changes: [
        ['destinations', 'Add destination', true],
        ['keys', 'Issue a key', false],
      ],
    },
  ],
  [
    'admin',
    { listed: ['Live', 'People', ...DELIVER, 'Install'], refused: null, changes: [['keys', 'Issue a key', true]] },
  ],
];

test.for(ROLE_LIMITS)(
  'a %s of one site sees and changes what the role permits, there alone',
  async ([role, { listed, refused, changes }]) => {
    const { site: siteId } = site;
    const page = await comeAs(role, { site_id: siteId }, '/');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(page.url()).toContain(`/sites/${siteId}/overview`);
    const links = await page.getByRole('navigation').getByRole('link').allTextContents();
    expect(links.map((text) => text.trim()).sort()).toEqual([...FIGURES, ...OF_SITE, ...listed].sort());
    for (const [name, button, isThere] of changes) {
      await page.goto(`${control}/dashboard/sites/${siteId}/${name}`);
      await page.locator('main .panel').first().waitFor();
      await page.locator('main .loading').first().waitFor({ state: 'hidden' });
      expect(await page.getByRole('button', { name: button }).count(), `${button} on ${name}`).toBe(isThere ? 1 : 0);
    }
    const refusedAt = [...(refused === null ? [] : [`${siteId}/${refused}`]), 'shop/overview'];
    for (const path of refusedAt) {
      await page.goto(`${control}/dashboard/sites/${path}`);
      await page.getByText('You do not have access to this page.').waitFor();
    }
    await leave(page);
  },
);

test('from nothing to a first event: a site, a key, the line, and a page that has it', async () => {
  const account = `t-${randomUUID().slice(0, 8)}`;
  await client.send('POST', '/accounts', null, { account_id: account, monthly_allowance: 1_000 });
  const page = await comeAs('admin', { account_id: account }, '/');
  await page.getByText('No sites yet').waitFor();
  await page.getByRole('link', { name: 'Create a site' }).click();
  const name = `Corner ${randomBase62(6, randomBytes).toLowerCase()}`;
  await page.getByLabel('Name').fill(name);
  expect(await page.getByLabel('Id').inputValue()).toBe(name.toLowerCase().replace(' ', '-'));
  await page.getByRole('button', { name: 'Create site' }).click();
  await page.getByText('Waiting for a browser event').waitFor();
  await page.getByRole('button', { name: 'Issue a key' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Issue' }).click();
  await page.getByText('A new public key').waitFor();
  await expect.poll(() => page.getByLabel('Tag host').inputValue()).toBe(edge);
  const line = await page.getByText(/^<script async/).textContent();
  const shop = await startPageServer({ '/': { body: html({ head: line ?? '' }) } });
  const visitor = await browser.newContext();
  await (await visitor.newPage()).goto(shop.url);
  await page.getByText('Events are arriving').waitFor();
  await page.getByText(/ arrived at \d/).waitFor();
  await page.getByRole('link', { name: 'Go to the overview' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await visitor.close();
  await shop.close();
  await leave(page);
});
