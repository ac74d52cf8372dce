import { afterAll, beforeAll, expect, test } from 'vitest';
import { setHidden } from './harness/hide_page.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { refusal, type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const FUNNEL = 'POST /v1/query/shop/funnel';
const asked = (api: StubApi): number => api.requests.filter((one) => one === FUNNEL).length;

/** Whose funnels are refused so many times, as others are under way. */
function busyFor(times: number): StubApi {
  const api = withTraffic(startStubApi());
  let left = times;
  const known = api.answer('POST', new URL('http://h/v1/query/shop/funnel'), {});
  api.requests.length = 0;
  return api.on('POST', '/v1/query/shop/funnel', () => (left-- > 0 ? refusal(429, 'query_busy') : known));
}

test('a question that others are in the way of is asked again by itself', async () => {
  const api = busyFor(2);
  const { page, context } = await dashboard.visit('/sites/shop/funnels', api);
  await expect.poll(() => asked(api), { timeout: 15_000 }).toBe(3);
  expect(await page.getByText('Too many queries').count()).toBe(0);
  await context.close();
});

test('it is not asked for ever, and says so then', async () => {
  const api = busyFor(1_000);
  const { page, context } = await dashboard.visit('/sites/shop/funnels', api);
  await page.getByText('Too many queries').waitFor({ timeout: 30_000 });
  expect(asked(api)).toBe(4);
  await context.close();
});

test('a page that was hidden meanwhile asks nothing until it is shown again', async () => {
  const api = busyFor(1);
  const { page, context } = await dashboard.visit('/sites/shop/funnels', api);
  await expect.poll(() => asked(api), { timeout: 15_000 }).toBe(1);
  await setHidden(page, true);
  await page.waitForTimeout(4_000);
  expect(asked(api)).toBe(1);
  await setHidden(page, false);
  await expect.poll(() => asked(api), { timeout: 15_000 }).toBe(2);
  expect(await page.getByText('Too many queries').count()).toBe(0);
  await context.close();
});
