import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withTraffic } from './harness/overview_answers.ts';
import { type StubApi, siteOf, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

/** Where the fifth of March begins in Tokyo, it is the fourth in Los Angeles. */
const FIFTH_IN_TOKYO = Date.parse('2026-03-05T00:00:00+09:00');
const META = { owner: 'ana', version: 'v1', changed_at: 0, changed_by: 'ana' };

/** A board of a trend and a retention by days of a zone, or of none. */
function withBoard(time_zone: string | undefined): StubApi {
  const common = { interval: 'day', ...(time_zone !== undefined && { time_zone }) };
  const series = [{ events: ['page_view'] }];
  const start = { events: ['page_view'] };
  const saved = [
    { id: 'views', name: 'Views', query: 'trends', question: { ...common, series }, ...META },
    { id: 'back', name: 'Back again', query: 'retention', question: { ...common, start, back: start }, ...META },
  ];
  const figures = { events: 7, persons: 3, sum: 0, measured: 3 };
  const intervals = [{ from: FIFTH_IN_TOKYO, ...figures }];
  return withTraffic(startStubApi())
    .on('GET', '/v1/admin/sites/shop/boards/week', { id: 'week', name: 'Week', questions: ['views', 'back'], ...META })
    .on('GET', '/v1/admin/sites/shop/questions', { items: saved, next: null })
    .on('GET', '/v1/query/shop/questions/views', {
      series: [{ ...figures, intervals, breakdown: [], other: null }],
      ...{ formulas: [], as_of: 0 },
    })
    .on('GET', '/v1/query/shop/questions/back', {
      cohorts: [{ from: FIFTH_IN_TOKYO, persons: 4, returned: [4, 2] }],
      as_of: 0,
    });
}

const AT = '/sites/shop/boards/week?from=2026-03-04&to=2026-03-06';

test('days are called what the zone of the question calls them, wherever somebody looks from', async () => {
  const options = { timezoneId: 'America/Los_Angeles' };
  const { page, context, faults } = await dashboard.visit(AT, withBoard('Asia/Tokyo'), options);
  await page.getByText('Show as a table').click();
  await page.getByRole('cell', { name: '5 Mar', exact: true }).waitFor();
  await page.getByRole('rowheader', { name: '5 Mar', exact: true }).waitFor();
  expect(await page.getByText('4 Mar', { exact: true }).count()).toBe(0);
  await page
    .getByRole('button', { name: /: show people, page_view, people, 5 Mar$|: show people, page_view, 5 Mar$/ })
    .click();
  await page.getByRole('dialog', { name: /5 Mar$/ }).waitFor();
  await page.keyboard.press('Escape');
  expect(await page.getByText('Time zone: Asia/Tokyo').count()).toBe(2);
  expect(faults).toEqual([]);
  await context.close();
});

test('a question without a zone is of that of the site, or of UTC, and the period with it', async () => {
  const from = async (zone: string | null, day: string): Promise<string | null> => {
    const api = withBoard(undefined);
    let asked: string | null = null;
    if (zone !== null) {
      const site = { ...siteOf('shop', 'Corner shop'), time_zone: zone };
      api.on('GET', '/v1/admin/sites/shop', site).on('GET', '/v1/admin/sites', { items: [site], next: null });
    }
    const { page, context, faults } = await dashboard.visit(AT, api, { timezoneId: 'America/Los_Angeles' });
    page.on('request', (request) => {
      asked = new URL(request.url()).searchParams.get('from') ?? asked;
    });
    await page.getByRole('rowheader', { name: day, exact: true }).waitFor();
    await page.reload();
    await page.getByRole('rowheader', { name: day, exact: true }).waitFor();
    expect(await page.getByText(`Time zone: ${zone ?? 'UTC'}`, { exact: true }).count()).toBe(2);
    expect(faults).toEqual([]);
    await context.close();
    return asked;
  };
  expect(await from(null, '4 Mar')).toBe(String(Date.UTC(2026, 2, 4)));
  expect(await from('Asia/Tokyo', '5 Mar')).toBe(String(Date.UTC(2026, 2, 3, 15)));
});

test('a chart is saved as an image with its title, its lines and its zone', async () => {
  const { page, context, faults } = await dashboard.visit(AT, withBoard('Asia/Tokyo'));
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'PNG of Trends' }).click();
  const download = await saved;
  expect(download.suggestedFilename()).toBe('trends.png');
  const bytes = await readFile(await download.path());
  expect(bytes.subarray(1, 4).toString()).toBe('PNG');
  const shown = await page.locator('.chart-canvas').boundingBox();
  // Beside the chart there is room for a margin, and above it for the title and a line.
  expect(bytes.readUInt32BE(16)).toBe(Math.round(shown?.width ?? 0) + 24);
  expect(bytes.readUInt32BE(20)).toBe(Math.round(shown?.height ?? 0) + 60);
  expect(faults).toEqual([]);
  await context.close();
});

test('a saved question is opened, changed and saved over by its name, or as a new one', async () => {
  const api = withBoard('Asia/Tokyo');
  const question = { interval: 'day', series: [{ events: ['page_view'] }] };
  const views = { id: 'views', name: 'Views', query: 'trends', question, ...META };
  api
    .on('GET', '/v1/admin/sites/shop/questions/views', views)
    .on('GET', '/v1/admin/sites/shop/boards', { items: [], next: null })
    .on('PUT', '/v1/admin/sites/shop/questions/views', views);
  const { page, context, faults } = await dashboard.visit('/sites/shop/boards', api);
  await page.getByRole('link', { name: 'Views' }).click();
  await page.getByText('Saved query “Views”').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Save query' });
  await dialog.getByLabel('Save').waitFor();
  expect(await dialog.getByLabel('Name').inputValue()).toBe('Views');
  await dialog.getByLabel('Save').selectOption('As a new query');
  await dialog.getByLabel('Name').fill('Views');
  await dialog.getByText('Another saved query has this name.').waitFor();
  await dialog.getByLabel('Save').selectOption('Replace “Views”');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved “Views”').waitFor();
  expect(api.requests.filter((one) => one.startsWith('PUT') || one.includes('POST /v1/admin'))).toEqual([
    'PUT /v1/admin/sites/shop/questions/views',
  ]);
  expect(faults).toEqual([]);
  await context.close();
});
