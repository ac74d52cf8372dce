import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations } from '../harness/axe.ts';
import { watchDrawnTexts } from './harness/drawn_texts.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { siteOf, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const CURRENCIES = ['EUR', 'USD', 'GBP', '', 'SEK'];

/** Texts of cards that reach into each other or out of their card. */
function collisions(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    for (const card of document.querySelectorAll('.figure')) {
      const range = document.createRange();
      const boxes = [...card.querySelectorAll('span')].map((text) => {
        range.selectNodeContents(text);
        return { text: text.textContent, box: range.getBoundingClientRect() };
      });
      const outer = card.getBoundingClientRect();
      boxes.forEach(({ text, box }, at) => {
        if (box.left < outer.left || box.right > outer.right) found.push(`${text} leaves its card`);
        for (const other of boxes.slice(at + 1)) {
          const apart = other.box.top >= box.bottom - 1 || other.box.left >= box.right || other.box.right <= box.left;
          if (!apart) found.push(`${text} ${other.text}`);
        }
      });
    }
    return found;
  });
}

test('no text of a card reaches into another with five currencies, wide and narrow', async () => {
  const api = withTraffic(startStubApi(), undefined, CURRENCIES);
  const { page, context, faults } = await dashboard.visit('/sites/shop/overview', api);
  await page.getByRole('button', { name: /^Revenue without a currency/ }).waitFor();
  for (const width of [1280, 800, 390]) {
    await page.setViewportSize({ width, height: 800 });
    expect(await collisions(page), String(width)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  }
  expect(faults).toEqual([]);
  await context.close();
});

test('revenue is what was left of payments, with what was paid and paid back, and orders that came again', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/overview', withTraffic(startStubApi()));
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByText(/^€[\d,]+\.\d\d paid, €[\d,]+\.\d\d paid back, of it €[\d,]+\.\d\d by renewals$/).waitFor();
  await page.getByText('12 sent again, 17 times: each is counted once').waitFor();
  await page.getByRole('button', { name: /^Orders/ }).click();
  await page.getByRole('heading', { name: 'Orders by day' }).waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(await axeViolations(page)).toEqual([]);
  expect(faults).toEqual([]);
  await context.close();
});

test('in the currency of the site it says what was converted, and which currencies are left out', async () => {
  const site = { ...siteOf('shop', 'Corner shop'), currency: 'EUR' };
  const api = withTraffic(startStubApi(), undefined, ['EUR', 'SEK'], 3).on('GET', '/v1/admin/sites', {
    items: [site],
    next: null,
  });
  const { page, context, faults } = await dashboard.visit('/sites/shop/overview', api);
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByText(/^€.* paid, .* by renewals, other currencies converted$/).waitFor();
  await page.getByText(/ paid, .*, no rate to EUR$/).waitFor();
  await page.getByText('without those of 3 more currencies; 12 sent again, 17 times: each is counted once').waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(await axeViolations(page)).toEqual([]);
  expect(faults).toEqual([]);
  await context.close();
});

test('visits, how many of them bounced and how long they were are cards too, and bounces stand by channel', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/overview', withTraffic(startStubApi()));
  await page.getByRole('button', { name: /^Visits 20,000 −20\.0%$/ }).waitFor();
  const bounces = page.getByRole('button', { name: /^Bounce rate 50\.0% \+10\.0 points$/ });
  // More of them is worse.
  expect(await bounces.locator('.change-down').count()).toBe(1);
  await page.getByText('one page, under 10 seconds, no conversion').waitFor();
  await page.getByRole('button', { name: /^Visit duration 1 min/ }).waitFor();
  expect(await page.getByRole('tabpanel', { name: 'Channels' }).getByRole('listitem').allTextContents()).toEqual([
    'Direct12,34550.0% bounced',
    'Organic Search6,17250.0% bounced',
    'Email3,08650.0% bounced',
  ]);
  await bounces.click();
  await page.getByRole('heading', { name: 'Bounce rate by day' }).waitFor();
  await page.getByText('Show as a table').click();
  await page.getByRole('cell', { name: '50.0%', exact: true }).first().waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(await collisions(page)).toEqual([]);
  expect(await axeViolations(page)).toEqual([]);
  expect(faults).toEqual([]);
  await context.close();
});

test('no number breaks within its digits', async () => {
  const api = withTraffic(startStubApi(), undefined, ['KWD', 'JPY', 'EUR']);
  const { page, context, faults } = await dashboard.visit('/sites/shop/overview', api);
  await page.getByRole('button', { name: /^Revenue KWD/ }).waitFor();
  for (const width of [1280, 800, 390]) {
    await page.setViewportSize({ width, height: 800 });
    const broken = await page.evaluate(() =>
      [...document.querySelectorAll('.figure-total')].flatMap(({ firstChild }) => {
        const text = firstChild?.textContent ?? '';
        const range = document.createRange();
        return text.split(' ').flatMap((word) => {
          range.setStart(firstChild as Text, text.indexOf(word));
          range.setEnd(firstChild as Text, text.indexOf(word) + word.length);
          return range.getClientRects().length > 1 ? [word] : [];
        });
      }),
    );
    expect(broken, String(width)).toEqual([]);
  }
  expect(faults).toEqual([]);
  await context.close();
});

test('a page that stays open asks of the time since', async () => {
  const { page, context, faults } = await dashboard.open(withTraffic(startStubApi()));
  await page.clock.install();
  const ends: number[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/revenue')) ends.push((request.postDataJSON() as { to: number }).to);
  });
  await page.goto(`${dashboard.url}/dashboard/sites/shop/overview`);
  await page.getByRole('button', { name: /^Revenue EUR/ }).waitFor();
  await page.clock.fastForward(61_000);
  await page.clock.fastForward(61_000);
  await expect.poll(() => (ends.at(-1) ?? 0) - (ends[0] ?? 0)).toBeGreaterThanOrEqual(60_000);
  expect(faults).toEqual([]);
  await context.close();
});

test('bars and lines of the overview are saved as images and tables', async () => {
  const { page, context, faults } = await dashboard.open(withTraffic(startStubApi()));
  const written = await watchDrawnTexts(page);
  await page.goto(`${dashboard.url}/dashboard/sites/shop/overview`);
  const saved = async (name: string) => {
    const button = page.getByRole('button', { name, exact: true });
    const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
    return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
  };
  const table = await saved('CSV of Page views by page');
  expect(table.name).toBe('page-views-by-page.csv');
  expect(table.bytes.toString('utf8')).toBe('\uFEFFPage,Page views\r\nshop.example/,12345\r\nshop.example/a,6172\r\n');
  const channels = await saved('CSV of Visits by channel');
  expect(channels.bytes.toString('utf8')).toMatch(/^\uFEFFChannel,Visits,Bounce rate\r\nDirect,12345,0\.49/);
  const image = await saved('PNG of Visits by channel');
  expect(image.bytes.subarray(1, 4).toString()).toBe('PNG');
  await saved('PNG of Visitors by day');
  expect(await written()).toEqual(expect.arrayContaining(['— Visitors', '- - Previous period']));
  const lines = await saved('CSV of Visitors by day');
  expect(lines.bytes.toString('utf8')).toMatch(
    /^\uFEFFDay \(UTC\),Visitors,Previous period\r\n\d{4}-\d\d-\d\d,\d+,\d+\r\n/,
  );
  expect(faults).toEqual([]);
  await context.close();
});

test('the days of a week are all to be seen in the table of the chart', async () => {
  const { page, context } = await dashboard.visit('/sites/shop/overview?period=7d', withTraffic(startStubApi()));
  await page.getByText('Show as a table').click();
  const table = page.locator('.chart-table .table-scroll');
  await expect.poll(() => table.getByRole('row').count()).toBe(8);
  await expect.poll(() => table.evaluate((region) => region.scrollHeight - region.clientHeight)).toBe(0);
  await context.close();
});

test('the chosen card stands in the address, and conversions lead to the trends of their events', async () => {
  const { page, context, faults } = await dashboard.visit(
    '/sites/shop/overview?period=7d',
    withTraffic(startStubApi()),
  );
  await page.getByRole('button', { name: /^Revenue USD/ }).click();
  await page.getByRole('heading', { name: 'Revenue USD by day' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Revenue USD by day' }).waitFor();
  await page.getByRole('button', { name: /^Visitors/ }).click();
  expect(new URL(page.url()).search).toBe('?period=7d');
  const trends = page.getByRole('link', { name: /^Trends of purchase, generate_lead/ });
  await trends.focus();
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Trends', level: 1 }).waitFor();
  expect(JSON.parse(new URL(page.url()).searchParams.get('q') ?? '')).toMatchObject({
    series: [{ events: expect.arrayContaining(['purchase', 'sign_up']) }],
    breakdown: { fields: [{ column: 'event' }] },
  });
  expect(faults).toEqual([]);
  await context.close();
});
