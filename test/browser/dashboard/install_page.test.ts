import { afterAll, beforeAll, expect, test } from 'vitest';
import { refusalsOf } from './harness/concern_answers.ts';
import { CANARY, withKeys } from './harness/operations_answers.ts';
import { withSettings } from './harness/settings_answers.ts';
import { type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

interface Stored {
  caller: 'browser' | 'server';
  event: string;
  event_id: string;
  received_at: number;
  properties: Record<string, unknown>;
}

/** A site whose newest events are asked for as the service answers them: by kind of key, newer than a moment. */
function withEvents(events: Stored[]): StubApi {
  return withKeys(withSettings(startStubApi())).on('POST', /\/live$/, (body) => {
    const { received_after, filters } = body as { received_after: number; filters: { to: string[] }[] };
    const wanted = events.filter(
      ({ caller, received_at }) => received_at > received_after && filters[0]?.to.includes(caller),
    );
    return { events: wanted.sort((a, b) => b.received_at - a.received_at).slice(0, 1), as_of: Date.now() };
  });
}

const stored = (caller: Stored['caller'], event: string, received_at: number, page?: string): Stored => ({
  ...{ caller, event, event_id: event, received_at },
  properties: page === undefined ? {} : { $current_url: page },
});

test('an event of a server does not turn it green; one of a browser does, and says where it came from', async () => {
  const events = [stored('server', 'purchase', Date.now())];
  const { page, context, faults } = await dashboard.visit('/sites/shop/install', withEvents(events));
  await page.getByText('Waiting for a browser event').waitFor();
  events.push(stored('server', 'purchase', Date.now() + 1_000));
  await page.waitForTimeout(2_500);
  expect(await page.getByText('Events are arriving').count()).toBe(0);
  events.push(stored('browser', CANARY, Date.now(), `https://shop.example/${CANARY}`));
  await page.getByText('Events are arriving').waitFor();
  await page.getByText(CANARY, { exact: true }).waitFor();
  await page.getByText(`https://shop.example/${CANARY}`).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('what is rejected after the page was opened says why nothing comes, and what was before does not', async () => {
  const bot = { kind: 'dropped', code: 'bot', count: 5 } as const;
  const found = refusalsOf({ totals: [bot] });
  const queries: string[] = [];
  const api = withEvents([]).on('GET', '/v1/admin/sites/shop/refusals', () => found);
  const ofStub = api.answer.bind(api);
  api.answer = (method, url, body) => {
    if (url.pathname.endsWith('/refusals')) queries.push(url.search);
    return ofStub(method, url, body);
  };
  const { page, context, faults } = await dashboard.open(api);
  const asked = Promise.withResolvers<() => Promise<void>>();
  await page.route('**/refusals*', (route) => asked.resolve(() => route.continue()), { times: 1 });
  await page.goto(`${dashboard.url}/dashboard/sites/shop/install`);
  const answer = await asked.promise;
  await page.getByText('An unknown key gets a 403 response').waitFor();
  expect(await page.getByText('Nothing of this site was rejected since').count()).toBe(0);
  await answer();
  await page.getByText('Nothing of this site was rejected since').waitFor();
  found.totals = [bot, { kind: 'refused', code: 'origin_not_allowed', count: 2 }];
  await page.getByText('origin_not_allowed, 2 since this page was opened').waitFor();
  await page.getByText('add the origin to the key if the page is yours').waitFor();
  expect(await page.getByText('bot', { exact: true }).count()).toBe(0);
  expect(queries[1]).toBe(`?from=${found.from}`);
  expect(faults).toEqual([]);
  await context.close();
});

test('beside events that arrive it says what is refused, and of what was refused before since when', async () => {
  const from = Date.UTC(2026, 10, 29, 9, 30);
  const revoked = { kind: 'refused', code: 'key_revoked', count: 3 } as const;
  const found = refusalsOf({ from, totals: [revoked, { kind: 'dropped', code: 'bot', count: 5 }] });
  const events = [stored('browser', 'page_view', Date.now() - 60_000)];
  const api = withEvents(events).on('GET', '/v1/admin/sites/shop/refusals', () => found);
  const { page, context, faults } = await dashboard.visit('/sites/shop/install', api);
  await page.getByText('Browser events are arriving').waitFor();
  await page.getByText(/^Refused requests: key_revoked, 3 since \d\d:00:00$/).waitFor();
  expect(await page.getByText('bot', { exact: true }).count()).toBe(0);
  events.push(stored('browser', 'page_view', Date.now() + 1_000));
  await page.getByText('Events are arriving', { exact: true }).waitFor();
  found.totals = [
    { ...revoked, count: 5 },
    { kind: 'refused', code: 'origin_not_allowed', count: 1 },
  ];
  await page.getByText(/^Refused requests: key_revoked, 2 since this page was opened, 5 since /).waitFor();
  await page.getByText('origin_not_allowed, 1 since this page was opened', { exact: false }).waitFor();
  expect(await page.getByText('Nothing of this site was rejected').count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

test('where browsers sent events before, it says how long ago, and not that the first one came', async () => {
  const before = stored('browser', 'page_view', Date.now() - 2 * 3_600_000, 'https://shop.example/old');
  const { page, context } = await dashboard.visit('/sites/shop/install', withEvents([before]));
  await page.getByText('Browser events are arriving, the last one 2 h ago').waitFor();
  expect(await page.getByText('Events are arriving', { exact: true }).count()).toBe(0);
  await context.close();
});

test('without a key the line has a placeholder; keys that there are can be used or pasted, and others are refused', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/install', withEvents([]));
  await page.getByText('svc_pk_0ld99…').waitFor();
  expect(await page.getByText('svc_pk_77aBc…').count()).toBe(0);
  await page.getByLabel('Tag host').fill('https://edge.example/"><script>');
  const line = (key: string): string =>
    `<script async src="https://edge.example/svc.min.js" data-key="${key}"></script>`;
  await page.getByText(line('svc_pk_YOUR_BROWSER_KEY'), { exact: true }).waitFor();
  await page.getByLabel('Browser key').fill('svc_pk_other1');
  await page.getByText('This is not an active browser key of this site.').waitFor();
  await page.getByRole('button', { name: 'Use svc_pk_4fGh2' }).click();
  expect(await page.getByLabel('Browser key').inputValue()).toBe('svc_pk_4fGh2SECRET');
  await page.getByText(line('svc_pk_4fGh2SECRET'), { exact: true }).waitFor();
  await page.getByLabel('Browser key').fill('svc_pk_0ld99SECRET');
  await page.getByText(line('svc_pk_0ld99SECRET'), { exact: true }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('a key that is issued there is for the pages of the site, and without origins it says what that means', async () => {
  const sent: (object | null)[] = [];
  const api = withEvents([]);
  const answer = api.answer.bind(api);
  api.answer = (method, url, body) => {
    if (method === 'POST' && url.pathname === '/v1/admin/keys') sent.push(body);
    return answer(method, url, body);
  };
  const { page, context, faults } = await dashboard.visit('/sites/shop/install', api);
  await page.getByLabel('Tag host').fill('https://edge.example');
  await page.getByRole('button', { name: 'Issue a key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Issue a browser key' });
  await dialog.getByText('Without allowed origins, any website').waitFor();
  await dialog.getByRole('button', { name: 'Add https://shop.example' }).click();
  await dialog.getByRole('button', { name: 'Add https://*.shop.example' }).click();
  expect(await dialog.getByText('Without allowed origins').count()).toBe(0);
  await dialog.getByRole('button', { name: 'Issue', exact: true }).click();
  await page.getByText('data-key="svc_pk_new01SECRET"').waitFor();
  await page.getByText('A new public key').waitFor();
  const allowed_origins = ['https://shop.example', 'https://*.shop.example'];
  expect(sent).toEqual([{ site_id: 'shop', caller: 'browser', label: 'Web pages', allowed_origins }]);
  expect(faults).toEqual([]);
  await context.close();
});
