import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations } from '../harness/axe.ts';
import { html, type PageServer, startPageServer } from '../harness/page_server.ts';
import { refusal, type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

const SECRET = `svc_sh_${'A'.repeat(32)}`;
const FIFTH_IN_TOKYO = Date.parse('2026-03-05T00:00:00+09:00');

let dashboard: StubDashboard;
let allowed: PageServer;
let other: PageServer;
beforeAll(async () => {
  const framing = () => {
    const src = `${dashboard.url}/dashboard/shared/framed#${SECRET}`;
    return {
      body: html({ body: `<h1>Intranet</h1><iframe title="Week" src="${src}" width="600" height="600"></iframe>` }),
    };
  };
  allowed = await startPageServer(framing);
  other = await startPageServer(framing);
  dashboard = await openStubDashboard('shell', undefined, (linkId) => (linkId === 'framed' ? [allowed.url] : []));
});
afterAll(async () => {
  await dashboard.close();
  await allowed.close();
  await other.close();
});

function withShared(): StubApi {
  const figures = { events: 7, persons: 6, sum: 0, measured: 6 };
  const intervals = [{ from: FIFTH_IN_TOKYO, ...figures }];
  const times = { from: FIFTH_IN_TOKYO, to: FIFTH_IN_TOKYO + 86_400_000, interval: 'day' };
  const series = [{ events: ['page_view'] }];
  const shared = {
    ...{ name: 'Week', site_name: 'Corner shop', time_zone: 'Asia/Tokyo', week_start: 'monday', last_days: 7 },
    questions: [
      { id: 'views', name: 'Views', query: 'trends', question: { ...times, series, compare: { days: 3 } } },
      { id: 'by', name: 'By country', query: 'top', question: { ...times, field: { column: 'country' } } },
    ],
    left_out: 1,
  };
  const top = { values: [{ value: 'BE', events: 7, persons: 6 }], other: null, as_of: 0 };
  const trends = { series: [{ ...figures, intervals, breakdown: [], other: null }], formulas: [], as_of: 0 };
  let api = startStubApi();
  for (const link of ['one', 'framed']) {
    api = api
      .on('GET', `/v1/shared/${link}`, shared)
      .on('GET', `/v1/shared/${link}/questions/views`, trends)
      .on('GET', `/v1/shared/${link}/questions/by`, top);
  }
  return api;
}

test('a shared board is read without signing in, by its secret alone, and leads nowhere', async () => {
  const api = withShared();
  const { page, context, faults } = await dashboard.open(api, { timezoneId: 'America/Los_Angeles' });
  await context.addCookies([{ name: 'svc_session', value: 'x', url: dashboard.url }]);
  const sent: { url: string; authorization: string; cookie: string; referer: string }[] = [];
  page.on('request', (request) => {
    const { authorization = '', cookie = '', referer = '' } = request.headers();
    sent.push({ url: request.url(), authorization, cookie, referer });
  });
  const answer = await page.goto(`${dashboard.url}/dashboard/shared/one#${SECRET}`);
  expect(answer?.headers()).toMatchObject({
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex, nofollow',
  });
  expect(answer?.headers()['content-security-policy']).toContain("frame-ancestors 'none'");
  await page.getByRole('heading', { name: 'Week', level: 1 }).waitFor();
  await page.getByText('Corner shop · Last 7 days · Asia/Tokyo').waitFor();
  await page.getByText('1 of its queries').waitFor();
  await page.getByText('Not compared with the time 3 days earlier: this period is longer').waitFor();
  expect(await page.getByRole('columnheader', { name: '3 days earlier' }).count()).toBe(0);
  await page.getByText('Show as a table').click();
  await page.getByRole('cell', { name: '5 Mar', exact: true }).waitFor();
  await page.getByRole('cell', { name: 'BE', exact: true }).waitFor();
  const asked = sent.filter(({ url }) => url.includes('/v1/'));
  expect(asked.map(({ url }) => new URL(url).pathname)).toEqual(
    expect.arrayContaining(['/v1/shared/one', '/v1/shared/one/questions/views', '/v1/shared/one/questions/by']),
  );
  for (const { url, authorization, cookie, referer } of asked) {
    expect([url.includes('/v1/shared/'), authorization, cookie, referer]).toEqual([true, `Bearer ${SECRET}`, '', '']);
  }
  expect(sent.filter(({ url, referer }) => `${url} ${referer}`.split('#')[0]?.includes(SECRET))).toEqual([]);
  const links = await page.getByRole('link').evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href));
  expect(links).toEqual(['https://db-ip.com/']);
  expect(await page.getByRole('button', { name: /show people|Remove|Move|Open|Share/ }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

test('axe finds nothing, light and dark, wide and narrow, and keys reach everything', async () => {
  const { page, context, faults } = await dashboard.visit(`/shared/one#${SECRET}`, withShared());
  await page.getByRole('cell', { name: 'BE', exact: true }).waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 844 });
      expect(await axeViolations(page), `${colorScheme} ${width}`).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
  }
  const focusable = await page.locator('a[href], button, summary, input, select').count();
  const reached = new Set<string>();
  for (let at = 0; at < focusable + 5; at += 1) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement?.textContent ?? ''));
  }
  expect([...reached].some((text) => text.includes('Show as a table'))).toBe(true);
  expect(faults).toEqual([]);
  await context.close();
});

test('a link that does not work says so, and nothing else', async () => {
  const api = startStubApi().on('GET', '/v1/shared/one', refusal(404, 'share_unknown'));
  const { page, context } = await dashboard.visit(`/shared/one#${SECRET}`, api);
  await page.getByText('This link does not work').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  expect(await page.getByRole('textbox').count()).toBe(0);
  expect(api.requests).toEqual(['GET /v1/shared/one']);
  await context.close();
});

test('a page of an allowed origin has it in a frame, and one of another has not', async () => {
  for (const { origin, isShown } of [
    { origin: allowed, isShown: true },
    { origin: other, isShown: false },
  ]) {
    const { page, context } = await dashboard.open(withShared());
    const refused = page.waitForEvent('console', {
      predicate: (message) => message.text().includes('frame-ancestors'),
      timeout: isShown ? 1 : 10_000,
    });
    refused.catch(() => undefined);
    await page.goto(origin.url);
    const frame = page.frameLocator('iframe');
    if (isShown) await frame.getByRole('cell', { name: 'BE', exact: true }).waitFor();
    else expect((await refused).text()).toContain('frame-ancestors');
    expect(await frame.getByRole('heading', { name: 'Week', level: 1 }).count()).toBe(isShown ? 1 : 0);
    await context.close();
  }
});

test('a board is shared by a link that is shown once, and revoked', async () => {
  const META = { owner: 'ana', version: 'v1', changed_at: 0, changed_by: 'ana' };
  const share = {
    ...{ link_id: 'ab12', kind: 'board', item_id: 'week', name: 'Agency', last_days: 30, may_embed: true, opened: 4 },
    ...{ created_at: 0, created_by: 'user:ana', expires_at: Date.UTC(2027, 0, 1), revoked_at: null, state: 'active' },
    ...{ last_opened_at: null, ...META },
  };
  let links: object[] = [{ ...share, link_id: 'cd34', item_id: 'another', name: 'Elsewhere' }];
  let sent: object | null = null;
  const api = startStubApi()
    .on('GET', '/v1/admin/sites/shop/boards/week', { id: 'week', name: 'The "Week"', questions: [], ...META })
    .on('GET', '/v1/admin/sites/shop/questions', { items: [], next: null })
    .on('GET', '/v1/admin/sites/shop/shares', () => ({ items: links, next: null }))
    .on('POST', '/v1/admin/sites/shop/shares', (body) => {
      sent = body;
      links = [...links, share];
      return { status: 201, body: { path: `/dashboard/shared/ab12#${SECRET}`, share } };
    })
    .on('POST', '/v1/admin/sites/shop/shares/ab12/revoke', () => {
      links = [{ ...share, state: 'revoked' }];
      return share;
    });
  const { page, context, faults } = await dashboard.visit('/sites/shop/boards/week', api);
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  await page.getByText('No links yet').waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Create a link' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create a link' });
  await dialog.getByLabel('Name').fill('Agency');
  await dialog.getByLabel('May be embedded').check();
  expect(await axeViolations(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText(`${dashboard.url}/dashboard/shared/ab12#${SECRET}`, { exact: true }).waitFor();
  await page.getByText('title="The &quot;Week&quot;"').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  expect(sent).toEqual({ kind: 'board', item_id: 'week', name: 'Agency', may_embed: true, days: 30, last_days: 30 });
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByRole('button', { name: 'Revoke the link Agency' }).click();
  await page
    .getByRole('dialog', { name: /Revoke the link/ })
    .getByRole('button', { name: 'Revoke', exact: true })
    .click();
  await page.getByText('Revoked', { exact: true }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});
