import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refusalsOf, withConditions } from './harness/concern_answers.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { someRefusals, withRefusals } from './harness/refusal_answers.ts';
import { refusal, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const PAGE = '/sites/shop/refusals';
const API = '/v1/admin/sites/shop/refusals';
const CANARY = '<img src=x onerror="document.title=1">';

test('what was not accepted is told by reason, over time and by samples, and what strangers named is text', async () => {
  const { page, context, faults } = await dashboard.visit(PAGE, withRefusals(startStubApi(), CANARY));
  const reasons = page.getByRole('region', { name: 'Rejected events by reason' });
  await reasons.getByRole('row', { name: /Dropped events bot 1,250 A bot sent it/ }).waitFor();
  await reasons
    .getByRole('row', { name: /Refused requests origin_not_allowed 7 .*add the origin to the key/ })
    .waitFor();
  const samples = page.getByRole('region', { name: 'Samples of rejected events' });
  await samples
    .getByRole('row', { name: /timestamp_invalid/ })
    .getByText(CANARY, { exact: true })
    .waitFor();
  expect(await samples.getByText('svc_pk_4fGh').count()).toBe(1);
  expect(await page.locator('img').count()).toBe(0);
  await page.getByText('Show as a table').click();
  const chart = page.getByRole('table', { name: 'Rejected events by day' });
  const cells = await chart.getByRole('cell').allTextContents();
  expect(cells.filter((text) => ['1,250', '7'].includes(text)).sort()).toEqual(['1,250', '7']);
  expect(faults).toEqual([]);
  await context.close();
});

test('both tables are saved as CSV', async () => {
  const { page, context } = await dashboard.visit(PAGE, withRefusals(startStubApi()));
  await page.getByText('svc_pk_4fGh').waitFor();
  const saved: string[] = [];
  for (const button of await page.getByRole('button', { name: /CSV/ }).all()) {
    const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
    saved.push(`${file.suggestedFilename()}\n${await readFile(await file.path(), 'utf8')}`);
  }
  expect(saved).toHaveLength(2);
  expect(saved[0]).toContain('rejected-events-shop');
  expect(saved[0]).toContain('timestamp_invalid,41,');
  expect(saved[1]).toContain('event timestamp properties.purchase');
  await context.close();
});

test('what is not known is not called good', async () => {
  const shown = async (api: ReturnType<typeof startStubApi>, path: string, text: string): Promise<void> => {
    const { page, context } = await dashboard.visit(path, api);
    await page.getByText(text).waitFor();
    await context.close();
  };
  const answer = (more: Parameters<typeof refusalsOf>[0]) => startStubApi().on('GET', API, refusalsOf(more));
  await shown(answer({}), PAGE, 'No rejected events in this period');
  await shown(answer({ known_since: null }), PAGE, 'No data yet');
  await shown(answer({ from: 9, to: 5 }), `${PAGE}?from=2020-01-01&to=2020-01-02`, 'kept for 7 days');
  await shown(startStubApi().on('GET', API, refusal(503, 'refusals_unavailable')), PAGE, 'Redis is not responding');
  await shown(answer({ ...someRefusals('buy'), samples: null }), PAGE, 'Your role cannot see samples.');
});

test('the overview tells of a notable share, and leads to the page', async () => {
  const rejections = refusalsOf({ totals: [{ kind: 'rejected', code: 'uuid_invalid', count: 5_000 }] });
  const api = withConditions(withTraffic(startStubApi()), { rejections });
  const { page, context, faults } = await dashboard.visit('/sites/shop/overview', api);
  await page.getByRole('link', { name: /5,000 events were rejected as malformed/ }).click();
  await page.waitForURL('**/sites/shop/refusals*');
  await page.getByRole('row', { name: /uuid_invalid/ }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});
