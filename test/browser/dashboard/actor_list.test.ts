import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations } from '../harness/axe.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { refusal, type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const TOTAL = 529;

/** An API that lists who is in a figure, page by page. */
function withActors(api: StubApi): StubApi {
  return api.on('POST', /\/actors$/, (body) => {
    const { after, limit = 50 } = body as { after?: string; limit?: number };
    const first = Number(after ?? 0);
    const count = Math.min(limit, TOTAL - first);
    const actors = Array.from({ length: count }, (_, at) => ({
      ...{ person_id: `person-${first + at}`, distinct_id: `d-${first + at}`, event_id: `e-${first + at}` },
      ...{ event: 'purchase', timestamp: 1_700_000_000_000 },
    }));
    const end = first + count;
    return { total: TOTAL, actors, next: end < TOTAL ? String(end) : null, as_of: 0 };
  });
}

test('whoever is in a figure is listed to the last, and the list says how many it has and how to get more', async () => {
  const api = withActors(withTraffic(startStubApi()));
  const { page, context, faults } = await dashboard.visit('/sites/shop/trends', api);
  await page.getByText('Show as a table').first().click();
  await page
    .getByRole('button', { name: /show people/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('200 of 529 shown').waitFor();
  const more = dialog.getByRole('button', { name: 'Show 200 more' });
  expect(await more.count()).toBe(2);
  for (const one of await more.all()) {
    const box = await one.boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(800);
  }
  await dialog.getByText('CSV has the 200 that are shown.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await more.first().click();
  await dialog.getByText('400 of 529 shown').waitFor();
  api.on('POST', /\/actors$/, refusal(503, 'query_unavailable'));
  await dialog.getByRole('button', { name: 'Show 129 more' }).last().click();
  await dialog.getByText('ClickHouse is not responding').waitFor();
  withActors(api);
  await dialog.getByRole('button', { name: 'Show 129 more' }).last().click();
  await dialog.getByText('529 in all').waitFor();
  expect(await dialog.getByRole('button', { name: /more$/ }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});
