import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations } from '../harness/axe.ts';
import { watchDrawnTexts } from './harness/drawn_texts.ts';
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

test('a query that cannot be compared in so long a time says so, and lists people of that time alone', async () => {
  const question = { interval: 'day', series: [{ events: ['page_view'] }], compare: { days: 2 } };
  const views = { id: 'views', name: 'Views', query: 'trends', question, ...META };
  const asked: object[] = [];
  const api = withBoard('Asia/Tokyo')
    .on('GET', '/v1/admin/sites/shop/questions', { items: [views], next: null })
    .on('POST', '/v1/query/shop/actors', (body) => {
      asked.push(body ?? {});
      return { actors: [], total: 0, next: null, as_of: 0 };
    });
  const { page, context, faults } = await dashboard.visit(AT, api);
  await page.getByText('Not compared with the time 2 days earlier: this period is longer').waitFor();
  await page.getByRole('button', { name: /: show people, page_view$/ }).click();
  await page.getByText('No one is here').waitFor();
  expect(asked).toMatchObject([{ of: { trends: { series: question.series } } }]);
  expect(JSON.stringify(asked)).not.toContain('compare');
  expect(faults).toEqual([]);
  await context.close();
});

test('a chart has whole numbers of counts, and is saved as an image with what it is of, its lines and its zone', async () => {
  const { page, context, faults } = await dashboard.open(withBoard('Asia/Tokyo'));
  const written = await watchDrawnTexts(page);
  await page.goto(`${dashboard.url}/dashboard${AT}`);
  await expect.poll(written).toContain('3');
  expect(new Set((await written()).filter((text) => /^[\d.]+$/.test(text)))).toEqual(new Set(['0', '1', '2', '3']));
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'PNG of Trends' }).click();
  const download = await saved;
  expect(download.suggestedFilename()).toBe('trends.png');
  const bytes = await readFile(await download.path());
  expect(bytes.subarray(1, 4).toString()).toBe('PNG');
  expect(await written()).toContain('page_view, 5 Mar – 5 Mar, Asia/Tokyo');
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

/** A saved file as its text, where a byte order mark says to Excel that it is UTF-8. */
async function savedText(page: Page, button: Locator): Promise<string[]> {
  const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
  const text = await readFile(await file.path(), 'utf8');
  expect(text.startsWith('\uFEFF')).toBe(true);
  return [file.suggestedFilename(), ...text.slice(1).trimEnd().split('\r\n')];
}

test('what a board shows is saved as one table with names and dates', async () => {
  const { page, context, faults } = await dashboard.visit(AT, withBoard('Asia/Tokyo'));
  expect(await savedText(page, page.getByRole('button', { name: 'CSV of Views' }))).toEqual([
    'views.csv',
    'Day (Asia/Tokyo),page_view',
    '2026-03-05,3',
  ]);
  expect(await savedText(page, page.getByRole('button', { name: 'CSV of Back again' }))).toEqual([
    'back-again.csv',
    'Cohort (Asia/Tokyo),People,Day 0,Day 1,Day 2',
    '2026-03-05,4,4,2,0',
  ]);
  expect(faults).toEqual([]);
  await context.close();
});

test('a grid of retention is saved as an image of its rows', async () => {
  const { page, context, faults } = await dashboard.visit(AT, withBoard('Asia/Tokyo'));
  const button = page.getByRole('button', { name: 'PNG of Retention by day' });
  const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
  expect(file.suggestedFilename()).toBe('retention-by-day.png');
  const image = (await readFile(await file.path())).toString('base64');
  const { width, height, colours } = await page.evaluate(async (bytes) => {
    const drawn = await createImageBitmap(new Blob([Uint8Array.from(atob(bytes), (sign) => sign.charCodeAt(0))]));
    const canvas = new OffscreenCanvas(drawn.width, drawn.height);
    const context2d = canvas.getContext('2d');
    context2d?.drawImage(drawn, 0, 0);
    const pixels = context2d?.getImageData(0, 0, drawn.width, drawn.height).data ?? new Uint8ClampedArray();
    return { width: drawn.width, height: drawn.height, colours: new Set(new Uint32Array(pixels.buffer)).size };
  }, image);
  // The name of the cohort, its people and three days; a head, all together and the cohort; a title above, margins, twice as sharp.
  expect([width, height]).toEqual([2 * (140 + 4 * 68 + 24), 2 * (3 * 28 + 12 + 18 + 12)]);
  expect(colours).toBeGreaterThan(20);
  expect(faults).toEqual([]);
  await context.close();
});

test('on a wall a board stands alone in larger letters and is read anew, and Escape leads back', async () => {
  const api = withBoard('Asia/Tokyo');
  const { page, context, faults } = await dashboard.open(api);
  await page.clock.install();
  const asked: number[] = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname.endsWith('/questions/views')) asked.push(Number(url.searchParams.get('to')));
  });
  await page.goto(`${dashboard.url}/dashboard/sites/shop/boards/week?period=30d`);
  const enter = page.getByRole('button', { name: 'Full screen', exact: true });
  await enter.focus();
  await page.keyboard.press('Enter');
  const leave = page.getByRole('button', { name: 'Leave full screen' });
  await leave.waitFor();
  expect(await leave.evaluate((button) => button === document.activeElement)).toBe(true);
  expect(new URL(page.url()).searchParams.get('wall')).toBe('1');
  for (const hidden of [
    page.getByRole('navigation'),
    page.getByRole('banner'),
    page.getByRole('button', { name: 'CSV' }),
  ])
    expect(await hidden.filter({ visible: true }).count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
  const size = (text: string) =>
    page
      .getByText(text)
      .first()
      .evaluate((one) => getComputedStyle(one).fontSize);
  expect(await size('Time zone: Asia/Tokyo')).toBe('16px');
  await page.clock.fastForward(61_000);
  // What came since is in it.
  await expect.poll(() => (asked.at(-1) ?? 0) - (asked[0] ?? 0)).toBeGreaterThanOrEqual(60_000);
  await page.getByLabel('Update every').selectOption('15 minutes');
  expect(new URL(page.url()).searchParams.get('wall')).toBe('15');
  expect(await page.evaluate(() => document.fullscreenElement === document.documentElement)).toBe(true);
  await page.keyboard.press('Escape');
  await enter.waitFor();
  expect(new URL(page.url()).searchParams.has('wall')).toBe(false);
  await page.waitForFunction(() => document.fullscreenElement === null);
  expect(faults).toEqual([]);
  await context.close();
});

test('on a wall paths have the whole width for their names, and labels stand in one line', async () => {
  const node = (value: string) => ({ value, paths: 10, begins: 0, ends: 3, goes_on: 2 });
  const name = 'checkout_completed_with_voucher';
  const paths = { id: 'views', name: 'Views', query: 'paths', question: {}, ...META };
  const api = withBoard('Asia/Tokyo')
    .on('GET', '/v1/admin/sites/shop/questions', { items: [paths], next: null })
    .on('GET', '/v1/query/shop/questions/views', {
      ...{ paths: 10, edges: [{ place: 0, from: name, to: name, paths: 7 }], as_of: 0 },
      places: [0, 1].map((place) => ({ place, values: [node(name)], other: null })),
    });
  const { page, context, faults } = await dashboard.visit(`${AT}&wall=5`, api);
  await page.getByText(name).first().waitFor();
  const cut = () =>
    page.evaluate(() =>
      [...document.querySelectorAll('.path-node, .path-node span')]
        .filter((one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight)
        .map(({ textContent }) => textContent),
    );
  await expect.poll(cut).toEqual([]);
  const [label, select] = await Promise.all([
    page.getByText('Update every').boundingBox(),
    page.getByLabel('Update every').boundingBox(),
  ]);
  expect(label?.height).toBeLessThan(select?.height ?? 0);
  expect(faults).toEqual([]);
  await context.close();
});

test('a wall is opened by its address, also on a phone, and left by a button', async () => {
  const { page, context, faults } = await dashboard.visit(`${AT}&wall=5`, withBoard('Asia/Tokyo'));
  const leave = page.getByRole('button', { name: 'Leave full screen' });
  await leave.waitFor();
  expect(await page.getByLabel('Update every').inputValue()).toBe('5');
  await page.getByText('Time zone: Asia/Tokyo').first().waitFor();
  await page.setViewportSize({ width: 390, height: 800 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(await axeViolations(page)).toEqual([]);
  await leave.click();
  await page.getByRole('banner').waitFor();
  await page.goBack();
  await leave.waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('an opened question is renamed, duplicated and put on a board, and says whether it was changed', async () => {
  const api = withBoard('Asia/Tokyo');
  const question = { interval: 'day', series: [{ events: ['page_view'] }] };
  const saved = new Map([['views', { id: 'views', name: 'Views', query: 'trends', question, ...META }]]);
  const boards = [
    { id: 'week', name: 'Week', questions: ['views'], ...META },
    { id: 'year', name: 'Year', questions: [] as string[], ...META },
  ];
  const link = { kind: 'board', item_id: 'year', state: 'active' };
  const links = [link, link, { ...link, state: 'revoked' }, { ...link, item_id: 'week' }];
  const keep = (body: object | null) => {
    const one = { ...META, ...(body as { id: string; name: string; query: string; question: typeof question }) };
    saved.set(one.id, one);
    return one;
  };
  const idIn = (url: URL): string => url.pathname.split('/').at(-1) ?? '';
  api
    .on('GET', '/v1/admin/sites/shop/questions', () => ({ items: [...saved.values()], next: null }))
    .on('GET', /\/questions\/[a-z-]+$/, (_body, url) => saved.get(idIn(url)) ?? {})
    .on('PUT', /\/questions\/[a-z-]+$/, keep)
    .on('POST', /\/admin\/sites\/shop\/questions$/, keep)
    .on('GET', '/v1/admin/sites/shop/boards', { items: boards, next: null })
    .on('GET', '/v1/admin/sites/shop/shares', {
      items: links.map((one, at) => ({ ...one, link_id: String(at) })),
      next: null,
    })
    .on('PUT', '/v1/admin/sites/shop/boards/year', (body) => {
      boards[1] = { ...META, ...(body as { id: string; name: string; questions: string[] }) };
      return boards[1];
    });
  const { page, context, faults } = await dashboard.visit('/sites/shop/boards', api);
  const manage = async (name: string, item: string): Promise<Locator> => {
    await page.getByRole('button', { name: `Manage ${name}` }).click();
    await page.getByRole('button', { name: item, exact: true }).click();
    return page.getByRole('dialog');
  };
  await page.getByRole('link', { name: 'Views' }).click();
  await page.getByText('Saved query “Views”', { exact: true }).waitFor();
  await page.getByRole('combobox', { name: 'Series A: measure' }).selectOption('People');
  await page.getByText('Saved query “Views”, changed', { exact: true }).waitFor();
  const renaming = await manage('Views', 'Rename');
  expect(await renaming.getByLabel('Name').inputValue()).toBe('Views');
  await renaming.getByLabel('Name').fill('Traffic');
  expect(await axeViolations(page)).toEqual([]);
  await renaming.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved query “Traffic”, changed', { exact: true }).waitFor();
  // A name alone: what was changed of the question is not saved by it.
  expect(saved.get('views')).toMatchObject({ name: 'Traffic', question });
  const copying = await manage('Traffic', 'Duplicate');
  expect(await copying.getByLabel('Name').inputValue()).toBe('Copy of Traffic');
  await copying.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved query “Copy of Traffic”', { exact: true }).waitFor();
  expect(saved.get('copy-of-traffic')).toMatchObject({ question: { series: [{ measure: { of: 'persons' } }] } });
  const adding = await manage('Copy of Traffic', 'Add to a board');
  expect(await adding.getByText('live shared').count()).toBe(0);
  await adding.getByLabel('Board', { exact: true }).selectOption('Year');
  await adding.getByText('2 live shared links show this board: whoever has one sees what is saved at once.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await adding.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('Added “Copy of Traffic” to “Year”').waitFor();
  expect(boards[1]?.questions).toEqual(['copy-of-traffic']);
  await page.getByRole('combobox', { name: 'Series A: measure' }).selectOption('Events');
  await page.getByText('“Copy of Traffic”, changed').waitFor();
  await page.getByRole('button', { name: 'Manage Copy of Traffic' }).click();
  await page.getByRole('button', { name: 'Discard changes' }).click();
  await page.getByText('Saved query “Copy of Traffic”', { exact: true }).waitFor();
  await expect.poll(() => page.getByRole('combobox', { name: 'Series A: measure' }).inputValue()).toBe('persons');
  expect(faults).toEqual([]);
  await context.close();
});
