import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROLE_PERMISSIONS } from '#pipelines/settings/access.ts';
import { axeViolations } from '../harness/axe.ts';
import { withTrace } from './harness/live_answers.ts';
import { withDeadLetters, withKeys, withReplays } from './harness/operations_answers.ts';
import { type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const KEY = { key_id: 'a'.repeat(16), shown_prefix: 'svc_pk_4fGh2', label: 'Web shop' };

function traced(): StubApi {
  const accepted = { received_at: 1_700_000_000_000, caller: 'browser', key: KEY } as const;
  const coordinate = { partition: 3, offset: 1_204, index: 0 };
  const deadLetter = {
    ...{ id: 'warehouse-0-1', stage: 'warehouse', reason: 'transform_failed', died_at: 1_700_000_000_000 },
    ...{ resent_at: null },
  };
  const api = withKeys(withDeadLetters(withReplays(startStubApi())))
    .on('POST', /\/top$/, {
      values: [{ value: 'p-7', events: 3, persons: 1, sum: 0 }],
      more_values: false,
      other: null,
    })
    .on('POST', /\/timeline$/, { events: [] });
  return withTrace(api, {
    accepted: { ...accepted, coordinate },
    dead_letters: [deadLetter] as never,
  });
}

/** Follows a link of the event's page. */
async function follow(page: Page, station: string, link: string | RegExp): Promise<void> {
  await page.goto(`${dashboard.url}/dashboard/sites/shop/events/e-1`);
  await page.getByRole('listitem').filter({ hasText: station }).getByRole('link', { name: link }).first().click();
}

test('from an event lead links to its person, key, dead letter, destinations and to whom its ids belong', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/events/e-1', traced());
  await page.getByRole('link', { name: 'p-7' }).waitFor();
  await page.getByText('42.505 KWD', { exact: true }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await follow(page, 'Accepted', /svc_pk_4fGh2/);
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).waitFor();
  await follow(page, 'Dead letter of warehouse', 'warehouse-0-1');
  await page.getByRole('dialog', { name: 'Dead letter warehouse-0-1' }).waitFor();
  await follow(page, 'Person', 'p-7');
  await page.waitForURL('**/sites/shop/people/p-7');
  await page.goto(`${dashboard.url}/dashboard/sites/shop/events/e-1`);
  await page.getByRole('heading', { name: 'Meta Conversions API', exact: true }).waitFor();
  await follow(page, 'Meta', 'Open destination');
  await page.getByRole('dialog', { name: 'Meta' }).waitFor();
  await follow(page, 'Row', 'o-1');
  await page.getByRole('heading', { name: '1 person' }).waitFor();
  expect(await page.getByLabel('E-mail address or id').inputValue()).toBe('o-1');
  expect(faults).toEqual([]);
  await context.close();
});

test('a key says on which pages its events were, and leads to them', async () => {
  const asked: { filters: unknown; field?: unknown }[] = [];
  const other = { values: 2, events: 5, persons: 5, sum: 0 };
  const values = [
    { value: 'shop.example', events: 1_200, persons: 40, sum: 0 },
    { value: '', events: 1, persons: 1, sum: 0 },
  ];
  const api = withKeys(startStubApi())
    .on('POST', /\/top$/, (body) => {
      asked.push(body as (typeof asked)[number]);
      return { values, more_values: true, other };
    })
    .on('POST', /\/live$/, (body) => {
      asked.push(body as (typeof asked)[number]);
      return { events: [], as_of: Date.now() };
    });
  const { page, context, faults } = await dashboard.visit(`/sites/shop/keys?key=${'a'.repeat(64)}`, api);
  const region = page.getByRole('region', { name: 'Pages it was used on, 7 days' });
  await region.getByText('shop.example: 1,200 events').waitFor();
  await region.getByText('without $current_url: 1 event').waitFor();
  await region.getByText('2 others: 5 events').waitFor();
  const filters = [{ field: { column: 'key_id' }, is: 'equal', to: ['a'.repeat(16)] }];
  expect(asked[0]).toMatchObject({ filters, field: { property: ['$current_url'], part: 'host' } });
  await page.getByRole('link', { name: 'Live events with this key' }).click();
  await page.getByText('No matching events in the last 10 minutes').waitFor();
  expect(asked.at(-1)).toMatchObject({ filters });
  await page.getByRole('button', { name: 'Clear' }).click();
  await expect.poll(() => asked.at(-1)?.filters).toBeUndefined();
  expect(await page.getByLabel('Key').count()).toBe(0);
  await page.goto(`${dashboard.url}/dashboard/sites/shop/keys?key=${'b'.repeat(64)}`);
  await page.getByRole('region', { name: 'What it was used for, 7 days' }).waitFor();
  expect(asked.at(-1)).toMatchObject({ field: { column: 'action_source' } });
  expect(faults).toEqual([]);
  await context.close();
});

test('whoever may not see what a link leads to reads the same without it', async () => {
  const grants = [
    { role: 'viewer', account_id: null, site_id: 'shop', permissions: [...ROLE_PERMISSIONS.viewer, 'query.events'] },
  ];
  const api = traced().on('GET', '/v1/session', { id: 'vic', name: 'Vic', kind: 'user', grants });
  const { page, context } = await dashboard.visit('/sites/shop/events/e-1', api);
  await page.getByText('p-7', { exact: true }).waitFor();
  expect(await page.locator('main').getByRole('link').count()).toBe(0);
  await context.close();
});
