import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations } from '../harness/axe.ts';
import { grantOf, withMembers } from './harness/member_answers.ts';
import { withDestinations } from './harness/operations_answers.ts';
import { withAccount, withDefinitions } from './harness/settings_answers.ts';
import { type SharedItem, shareItem } from './harness/shared_item.ts';
import { refusal, type StubAnswer, type StubApi, siteOf, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const SITE = '/v1/admin/sites/shop';
const asked = (page: Page): Locator => page.getByRole('dialog', { name: 'Changed by someone else' });
const row = (page: Page, name: string): Locator => asked(page).getByRole('row', { name });

function sharedSite(): { api: StubApi; site: SharedItem } {
  const api = startStubApi();
  return { api, site: shareItem(api, SITE, { ...siteOf('shop', 'Corner shop'), default_country: 'AT' }) };
}

test('what somebody else changed is shown, and by keyboard mine is saved over it', async () => {
  const { api, site } = sharedSite();
  const { page, context, faults } = await dashboard.visit('/sites/shop/settings', api);
  await page.getByLabel('Name').fill('Corner store');
  site.ben({ name: '<b>Market</b>', default_country: 'DE' });
  await page.getByLabel('Name').press('Enter');
  await asked(page).getByText('ben changed the site on').waitFor();
  await row(page, 'Name Corner shop <b>Market</b> Corner store').waitFor();
  await row(page, 'Country AT DE DE').waitFor();
  for (const size of [
    { width: 1280, height: 800 },
    { width: 390, height: 844 },
  ]) {
    await page.setViewportSize(size);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await axeViolations(page)).toEqual([]);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(size.width);
  }
  for (const name of ['Cancel', 'Discard my changes', 'Overwrite']) {
    await tabTo(page, name);
  }
  await page.keyboard.press('Enter');
  await page.getByText('Saved the site').waitFor();
  expect(site.sent).toEqual([{ method: 'PATCH', body: { name: 'Corner store' } }]);
  expect(site.now()).toMatchObject({ name: 'Corner store', default_country: 'DE' });
  await asked(page).waitFor({ state: 'detached' });
  expect(await page.getByLabel('Country (optional)').inputValue()).toBe('DE');
  expect(faults).toEqual([]);
  await context.close();
});

/** Goes on by the Tab key until a button has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let steps = 0; steps < 10; steps += 1) {
    const focused = await page.evaluate(() => document.activeElement?.textContent ?? '');
    if (focused === name) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`${name} is not reached by the Tab key`);
}

test('theirs is taken, and nothing is sent; or nothing is decided, and what was typed stays', async () => {
  const { api, site } = sharedSite();
  const { page, context, faults } = await dashboard.visit('/sites/shop/settings', api);
  const name = page.getByLabel('Name');
  await name.fill('Corner store');
  site.ben({ name: 'Market' });
  await name.press('Enter');
  await asked(page).waitFor();
  await page.keyboard.press('Escape');
  await asked(page).waitFor({ state: 'detached' });
  expect(await name.inputValue()).toBe('Corner store');
  await name.press('Enter');
  await asked(page).getByRole('button', { name: 'Discard my changes' }).click();
  await asked(page).waitFor({ state: 'detached' });
  expect(await name.inputValue()).toBe('Market');
  expect(site.sent).toEqual([]);
  await name.fill('Supermarket');
  await name.press('Enter');
  await page.getByText('Saved the site').waitFor();
  expect(site.sent).toEqual([{ method: 'PATCH', body: { name: 'Supermarket' } }]);
  expect(faults).toEqual([]);
  await context.close();
});

test('where somebody changed nothing that the form is about, nobody is asked; where they change it again, once more', async () => {
  const { api, site } = sharedSite();
  const { page, context } = await dashboard.visit('/sites/shop/settings', api);
  await page.getByLabel('Name').fill('Corner store');
  site.ben({ block_rules: [{ kind: 'ip', value: '203.0.113.1', property: null }] });
  await page.getByLabel('Name').press('Enter');
  await page.getByText('Saved the site').waitFor();
  await page.getByRole('tab', { name: 'Block rules' }).click();
  await page.getByLabel('Value').fill('203.0.113.9');
  site.ben({ block_rules: [] });
  await page.keyboard.press('Enter');
  await row(page, 'Rules IP address 203.0.113.1 nothing IP address 203.0.113.9').waitFor();
  const rule = { kind: 'event', value: 'noise', property: null };
  site.ben({ block_rules: [rule] });
  await asked(page).getByRole('button', { name: 'Overwrite' }).click();
  await asked(page).getByText('Event noise').first().waitFor();
  await asked(page).getByRole('button', { name: 'Overwrite' }).click();
  await page.getByText('The rule was added').waitFor();
  const mine = { kind: 'ip', value: '203.0.113.9', property: null };
  expect(site.sent.at(-1)?.body).toEqual({ block_rules: [rule, mine] });
  await context.close();
});

const KEY = {
  ...{ key_hash: 'a'.repeat(64), shown_prefix: 'svc_pk_4fGh2', site_id: 'shop', caller: 'browser', label: 'Shop' },
  ...{ allowed_origins: [], created_at: 0, expires_at: null, revoked_at: null, rate_limit: null },
  ...{ last_used_at: null, state: 'active', public_key: null },
};
const META = { owner: 'ana', revision: 1 };
const DESTINATION = {
  ...{ site_id: 'shop', name: 'webhook', kind: 'webhook', enabled: true, secrets: ['secret'], rules: [] },
  settings: { url: 'https://hooks.shop.example/in' },
};
const SURVEY = { id: 'nps', name: 'NPS', enabled: true, title: 'A', starts_at: null, ends_at: null, revision: 1 };
const BEA = {
  ...{ user_id: 'bea', name: 'Bea', created_at: 0, disabled_at: null, has_password: true, second_factor: false },
  ...{ recovery_codes_left: 0, provider_links: 0, grants: [grantOf('viewer', 'shop')], has_other_grants: false },
};
const MEMBERS = '/v1/admin/users';
const SURVEYS = `${SITE}/surveys`;

const BUY = {
  ...{ id: 'buy', name: 'add_to_cart', trigger: 'click', selector: '.buy', url_pattern: '', text_contains: '' },
  ...{ properties: {}, conversion_event: '', destinations: {}, value_selector: '', field_selectors: {}, enabled: true },
};

/** A definition is a part of its site, by whose version it is changed. */
function shareDefinition(api: StubApi): SharedItem {
  const site = shareItem(withDestinations(api), SITE, { ...siteOf('shop', 'Shop'), event_definitions: [BUY] });
  const list = (): StubAnswer => {
    const { event_definitions, version } = site.now();
    return { status: 200, body: { items: event_definitions }, etag: `"${version}"` };
  };
  api.on('GET', `${SITE}/event-definitions`, list).on('GET', `${SITE}/tag-health`, { definitions: [] });
  api.on('PUT', `${SITE}/event-definitions/buy`, (body, _url, ifMatch) => {
    if (ifMatch !== `"${site.now().version}"`) return refusal(412, 'version_conflict');
    site.sent.push({ method: 'PUT', body });
    return body ?? {};
  });
  return site;
}

interface Case {
  of: string;
  at: string;
  share(api: StubApi): SharedItem;
  /** What is done in the form. */
  act(page: Page): Promise<void>;
  ben: object;
  /** What is shown of what ben has done. */
  shown: string;
  keeps: { method: string; body: unknown };
}

const CASES: Case[] = [
  {
    of: 'a key',
    at: `/sites/shop/keys?key=${KEY.key_hash}`,
    share: (api) => shareItem(api, `/v1/admin/keys/${KEY.key_hash}`, KEY, ['/v1/admin/keys']),
    async act(page) {
      await page.getByLabel('Label').fill('Mine');
      await page.keyboard.press('Enter');
    },
    ben: { rate_limit: 50 },
    shown: 'Max requests in 10 seconds nothing 50 50',
    keeps: { method: 'PATCH', body: { label: 'Mine', allowed_origins: [], rate_limit: 50 } },
  },
  {
    of: 'the settings of a destination',
    at: '/sites/shop/destinations?destination=webhook&view=settings',
    share: (api) =>
      shareItem(withDestinations(api), `${SITE}/destinations/webhook`, DESTINATION, ['/v1/admin/destinations']),
    async act(page) {
      await page.getByLabel('Address', { exact: true }).fill('https://mine.example/in');
      await page.keyboard.press('Enter');
    },
    ben: { settings: { url: 'https://ben.example/in' } },
    shown: 'Address https://hooks.shop.example/in https://ben.example/in https://mine.example/in',
    keeps: { method: 'PATCH', body: { settings: { url: 'https://mine.example/in' } } },
  },
  {
    of: 'a destination that is removed',
    at: '/sites/shop/destinations?destination=webhook&view=settings',
    share: (api) =>
      shareItem(withDestinations(api), `${SITE}/destinations/webhook`, DESTINATION, ['/v1/admin/destinations']),
    async act(page) {
      await page.getByRole('button', { name: 'Remove' }).click();
      await page
        .getByRole('dialog', { name: /^Remove/ })
        .getByRole('button', { name: 'Remove' })
        .click();
    },
    ben: { enabled: false },
    shown: 'Enabled yes no',
    keeps: { method: 'DELETE', body: null },
  },
  {
    of: 'an event definition',
    at: '/sites/shop/definitions?definition=buy',
    share: shareDefinition,
    async act(page) {
      await page.getByLabel('Event name').fill('mine');
      await page.keyboard.press('Enter');
    },
    ben: { event_definitions: [{ ...BUY, selector: '.ben' }] },
    shown: 'Element selector .buy .ben .ben',
    keeps: { method: 'PUT', body: { ...BUY, selector: '.ben', name: 'mine' } },
  },
  {
    of: 'a survey',
    at: '/sites/shop/engage?item=nps',
    share: (api) => shareItem(withDefinitions(api), `${SURVEYS}/nps`, SURVEY, [SURVEYS]),
    async act(page) {
      await page.getByRole('tab', { name: 'Advanced' }).click();
      const text = page.getByLabel('Definition in JSON');
      await text.fill((await text.inputValue()).replace('"NPS"', '"Mine"'));
      await page.getByRole('button', { name: 'Save', exact: true }).click();
    },
    ben: { title: 'B' },
    shown: 'Title A B B',
    keeps: {
      method: 'PUT',
      body: { id: 'nps', name: 'Mine', enabled: true, title: 'B', starts_at: null, ends_at: null },
    },
  },
  {
    of: 'the roles of a member',
    at: '/account?view=members&user=bea',
    share: (api) => shareItem(withMembers(withAccount(api)), `${MEMBERS}/bea`, BEA, [MEMBERS]),
    async act(page) {
      await page.getByRole('button', { name: 'Remove viewer of site shop' }).click();
      await page.getByRole('button', { name: 'Save roles' }).click();
    },
    ben: { grants: [grantOf('admin', 'shop')] },
    shown: 'Roles viewer of site shop admin of site shop nothing',
    keeps: { method: 'PATCH', body: { grants: [] } },
  },
  {
    of: 'a board that is removed',
    at: '/sites/shop/boards',
    share: (api) => {
      const board = { id: 'week', name: 'Week', questions: ['a'], ...META };
      api.on('GET', `${SITE}/questions`, { items: [], next: null });
      return shareItem(api, `${SITE}/boards/week`, board, [`${SITE}/boards`]);
    },
    async act(page) {
      await page.getByRole('button', { name: 'Remove Week' }).click();
      await page.getByRole('button', { name: 'Remove', exact: true }).click();
    },
    ben: { questions: ['a', 'b'] },
    shown: 'Questions a a b',
    keeps: { method: 'DELETE', body: null },
  },
];

test.for(CASES)('of $of, changed by two at once, one is chosen', async ({ at, share, act, ben, shown, keeps }) => {
  const api = startStubApi();
  const item = share(api);
  const { page, context, faults } = await dashboard.visit(at, api);
  await page.waitForLoadState('networkidle');
  item.ben(ben);
  await act(page);
  await row(page, shown).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  expect(item.sent).toEqual([]);
  const button = keeps.method === 'DELETE' ? 'Remove anyway' : 'Overwrite';
  await asked(page).getByRole('button', { name: button }).click();
  await asked(page).waitFor({ state: 'detached' });
  expect(item.sent).toEqual([keeps]);
  expect(faults).toEqual([]);
  await context.close();
});

test('where a secret is replaced that somebody else may have replaced, one is asked as well', async () => {
  const api = withDestinations(startStubApi());
  const item = shareItem(api, `${SITE}/destinations/webhook`, DESTINATION, ['/v1/admin/destinations']);
  const { page, context } = await dashboard.visit('/sites/shop/destinations?destination=webhook&view=settings', api);
  await page.getByPlaceholder('Stored. Type to replace it.').fill('tell-nobody');
  item.ben({});
  await page.keyboard.press('Enter');
  await asked(page).getByText('a secret may have been replaced').waitFor();
  expect(await asked(page).textContent()).not.toContain('tell-nobody');
  await asked(page).getByRole('button', { name: 'Overwrite' }).click();
  await page.getByText('Saved the settings of').waitFor();
  expect(item.sent).toEqual([{ method: 'PATCH', body: { secrets: { secret: 'tell-nobody' } } }]);
  await context.close();
});
