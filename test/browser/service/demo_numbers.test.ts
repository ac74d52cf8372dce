import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FunnelAnswer } from '#pipelines/analytics/funnels/query.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import type { AccountItem } from '#services/control_api/sites.ts';
import { askFunnel, askStored } from '#services/local/demo/compare.ts';
import { sendAll } from '#services/local/demo/send_requests.ts';
import {
  createWorld,
  FUNNEL_STEPS,
  FUNNEL_WINDOW_MS,
  resolvePeople,
  type World,
} from '#services/local/demo/world/demo_world.ts';
import { runPrefix } from '#services/local/demo/world/people.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';
import { signedIn } from './harness/signed_in.ts';

const service = sharedService();
const { ready } = service;
const client = createControlClient(httpTransport(ready.control), readFileSync(ready.adminTokenFile, 'utf8').trim());
const VISITORS = 60;
const MONTH = 'period=30d';
const ARRIVAL_MS = 60_000;
/** How long a page may take to show what it asked for. */
const SHOWN = { timeout: 20_000 };
const shown = (count: number): string => count.toLocaleString('en-GB');

let site: TestSite;
let world: World;
let browser: TestBrowser;
let page: Page;

/** The shop's part of a demo's day, at a site of its own, so that what is shown of the site is the ledger's and nothing else. */
beforeAll(async () => {
  site = await makeSite(service);
  world = createWorld({ seed: 25, run: site.site, visitors: VISITORS, endsAt: Date.now() });
  const requests = world.requests.filter(({ siteSlot }) => siteSlot === 'shop');
  const around = { random: Math.random, wait, now: Date.now, onOutcome: () => undefined };
  await sendAll(requests, {
    ...{ edge: ready.edge, sites: { shop: site, travel: site }, concurrency: 8, giveUpAfterMs: 30_000 },
    ...around,
  });
  const scope = { site: site.site, idPrefix: runPrefix(world.identity), endsAt: Date.now() };
  const { unique, people, funnel } = world.ledger.sites.shop;
  const found = async (): Promise<number[]> => {
    const { events, people: persons } = await askStored(client, scope);
    const { steps } = await askFunnel(client, scope);
    return [events, persons, ...steps.map(({ reached }) => reached)];
  };
  const expected = JSON.stringify([unique.size, people, ...funnel]);
  await until('the day has arrived', found, (seen) => JSON.stringify(seen) === expected, {
    ...{ timeoutMs: ARRIVAL_MS, everyMs: 250 },
  });
  browser = await openBrowser('whole');
  page = await signedIn(service, browser, `/sites/${site.site}/overview?${MONTH}`);
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
});

const goTo = (path: string): Promise<unknown> => page.goto(`${ready.control}/dashboard${path}`);
const figure = (name: string): Locator => page.locator('.figure', { hasText: name }).locator('.figure-total');

test('the overview shows as many people, events and conversions as the ledger of the demo has, and its revenue', async () => {
  const { unique, people, byName } = world.ledger.sites.shop;
  await expect.poll(() => figure('Events').textContent(), SHOWN).toBe(shown(unique.size));
  // Each of the two questions behind the figures is answered by itself.
  await figure('Revenue USD').waitFor();
  expect(await figure('Visitors').textContent()).toBe(shown(people));
  const conversions = (byName.get('purchase') ?? 0) + (byName.get('sign_up') ?? 0);
  expect(await figure('Conversions').textContent()).toBe(shown(conversions));
  const purchases = [...unique.values()].filter(({ name }) => name === 'purchase').sort((a, b) => b.at - a.at);
  // Of an order that came again the first counts.
  const orders = new Map(
    purchases.map(({ wire: { properties } }) => [properties['order_id'], Number(properties['value'])]),
  );
  const revenue = [...orders.values()].reduce((sum, value) => sum + value, 0);
  const text = (await figure('Revenue USD').textContent()) ?? '';
  // From a thousand on it is shown without cents.
  expect(Math.abs(Number(text.replaceAll(/[^\d.]/g, '')) - revenue)).toBeLessThan(1);
});

/** What the people bought whom each campaign brought first, by campaign; one whose people bought nothing is not in it. */
function revenueByCampaign(): Map<string, number> {
  const events = [...world.ledger.sites.shop.unique.values()].sort((one, other) => one.at - other.at);
  const personOf = resolvePeople(events);
  const campaignOf = new Map<string, unknown>();
  for (const { visitor, wire } of events) {
    const { utm_campaign: campaign } = wire.properties;
    if (campaign !== undefined && !campaignOf.has(personOf(visitor))) campaignOf.set(personOf(visitor), campaign);
  }
  const revenue = new Map<string, number>();
  for (const { visitor, name, wire } of events) {
    const campaign = campaignOf.get(personOf(visitor));
    if (name !== 'purchase' || typeof campaign !== 'string') continue;
    revenue.set(campaign, (revenue.get(campaign) ?? 0) + Number(wire.properties['value']));
  }
  return revenue;
}

test('from the campaigns on the overview it is one click to what each of them brought', async () => {
  await page.getByRole('tab', { name: 'Campaigns' }).click();
  const compare = page.getByRole('link', { name: 'Compare revenue' });
  await compare.waitFor();
  const shownNames = await page.locator('.bars .cut').allTextContents();
  await compare.click();
  const totals = page.getByRole('region', { name: 'Totals' });
  await totals.getByText('brand_search').waitFor();
  const { q = '{}' } = Object.fromEntries(new URL(page.url()).searchParams);
  const question = JSON.parse(q) as { series: { filters: [{ to: string }] }[] };
  const names = question.series.map(({ filters: [{ to }] }) => to.replace('(?i)^', '').slice(0, -1));
  expect(shownNames).toEqual(expect.arrayContaining(names));
  const range = { from: Date.now() - 30 * 86_400_000, to: Date.now() + 86_400_000, interval: 'day', fresh: true };
  const { series } = await client.query<TrendsAnswer>(site.site, 'trends', { ...range, ...question });
  const rows = await totals.locator('tbody tr').allTextContents();
  expect(rows).toHaveLength(names.length);
  const revenue = revenueByCampaign();
  expect(revenue.size).toBeGreaterThan(0);
  for (const [at, name] of names.entries()) {
    const brought = revenue.get(name);
    expect(series[at]?.measured ?? 0, name).toBeCloseTo(brought ?? 0, 2);
    expect(rows[at]).toContain("the person's first utm_campaign");
    expect(rows[at]).toContain(name);
    expect(rows[at]).toContain((brought ?? 0).toLocaleString('en-GB', { maximumFractionDigits: 2 }));
    expect(series[at]?.breakdown.map(({ value }) => value)).toEqual(brought === undefined ? [] : ['USD']);
    if (brought !== undefined) expect(rows[at]).toContain(': USD');
  }
});

test('trends have as many events of each name as the ledger', async () => {
  const { byName } = world.ledger.sites.shop;
  const question = { series: [{}], breakdown: { fields: [{ column: 'event' }], limit: 50 } };
  await goTo(`/sites/${site.site}/trends?${MONTH}&q=${encodeURIComponent(JSON.stringify(question))}`);
  const rows = page.getByRole('region', { name: 'Totals' }).locator('tbody tr');
  await expect.poll(() => rows.count(), SHOWN).toBe(byName.size);
  const counts = Object.fromEntries(
    await Promise.all(
      (await rows.all()).map(async (row) => {
        const [name = '', count = ''] = await row.locator('td, th').allTextContents();
        return [name, Number(count.replaceAll(',', ''))] as const;
      }),
    ),
  );
  expect(counts).toEqual(Object.fromEntries(byName));
});

test('the funnel from page to purchase loses whom the ledger says, and lists them', async () => {
  const { funnel } = world.ledger.sites.shop;
  const question = { steps: FUNNEL_STEPS.map((name) => ({ events: [name] })), window_ms: FUNNEL_WINDOW_MS };
  await goTo(`/sites/${site.site}/funnels?${MONTH}&q=${encodeURIComponent(JSON.stringify(question))}`);
  const reached = page.getByRole('button', { name: /: show who reached step/ });
  await expect.poll(() => reached.allTextContents(), SHOWN).toEqual(funnel.map(shown));
  const range = { from: Date.now() - 30 * 86_400_000, to: Date.now() + 86_400_000, fresh: true };
  const { steps } = await client.query<FunnelAnswer>(site.site, 'funnel', { ...range, ...question });
  expect(steps.map((step) => step.reached)).toEqual(funnel);
});

test('the account page has used what the API says', async () => {
  await goTo('/account');
  const { used_this_month: used } = await client.get<AccountItem>(`/accounts/${site.account}`);
  expect(used).toBeGreaterThan(0);
  const meter = page.getByRole('meter', { name: `Used of ${site.account}'s allowance` });
  await expect.poll(() => meter.getAttribute('value'), SHOWN).toBe(String(used));
});
