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
  await follow(page, 'meta', 'Open destination');
  await page.getByRole('dialog', { name: 'Meta' }).waitFor();
  await follow(page, 'Row', 'o-1');
  await page.getByRole('heading', { name: '1 person' }).waitFor();
  expect(await page.getByLabel('E-mail address or id').inputValue()).toBe('o-1');
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
