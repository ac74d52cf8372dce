import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PAGE_DEFAULTS } from '#schemas/setting.ts';
import { axeViolations } from '../harness/axe.ts';
import { CANARY, withDestinations } from './harness/operations_answers.ts';
import { withAccount, withDefinitions, withSettings } from './harness/settings_answers.ts';
import { startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

/** Lets go of the mouse beside the dialog, and asks to leave it by Escape and by a click, and stays. */
async function leaveBySlips(page: Page): Promise<void> {
  await page.getByLabel('Element selector').hover();
  await page.mouse.down();
  await page.mouse.move(5, 5);
  await page.mouse.up();
  const question = page.getByRole('dialog', { name: 'Leave without saving?' });
  expect(await question.count()).toBe(0);
  await page.keyboard.press('Escape');
  await question.getByRole('button', { name: 'Cancel' }).click();
  await page.mouse.click(5, 5);
  await question.waitFor();
  await page.keyboard.press('Escape');
  await question.waitFor({ state: 'detached' });
}

test('of a site only what was changed is sent, and tabs keep it till then; a rule is added, and a domain is verified', async () => {
  const sent: object[] = [];
  const api = withSettings(startStubApi());
  const patch = api.answer.bind(api);
  api.answer = (method, url, body) => {
    if (method === 'PATCH' && body !== null) sent.push(body);
    return patch(method, url, body);
  };
  const { page, context, faults } = await dashboard.visit('/sites/shop/settings', api);
  await page.getByLabel('Name').fill('Corner store');
  await page.getByRole('tab', { name: 'Tag and consent' }).click();
  await page.getByLabel('Require consent before tracking').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved the tag settings').waitFor();
  await page.getByRole('tab', { name: 'General' }).click();
  expect(await page.getByLabel('Name').inputValue()).toBe('Corner store');
  await page.getByLabel('Name').press('Enter');
  await page.getByText('Saved the site').waitFor();
  await page.getByRole('tab', { name: 'Block rules' }).click();
  await page.getByRole('cell', { name: CANARY, exact: true }).waitFor();
  await page.getByLabel('Value').fill('203.0.113.0/24');
  await page.keyboard.press('Enter');
  await page.getByText('The rule was added').waitFor();
  const before = { kind: 'user_agent', value: CANARY, property: null };
  expect(sent).toEqual([
    { tag: { consent_required: true } },
    { name: 'Corner store' },
    { block_rules: [before, { kind: 'ip', value: '203.0.113.0/24', property: null }] },
  ]);
  await page.getByRole('tab', { name: 'Domains' }).click();
  await page.getByText('Where events.shop.example cannot have a CNAME record').waitFor();
  await page.getByRole('button', { name: 'Verify now' }).click();
  await page.getByText('events.shop.example is verified').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('an account says what its month comes to and who changed what, and issues secrets once', async () => {
  const { page, context, faults } = await dashboard.visit('/account', withAccount(startStubApi()));
  await page.getByText('8,300 of 10,000 events this month (83.0%)').waitFor();
  await page.getByRole('tab', { name: 'Audit' }).click();
  await page.getByLabel('User or token').fill('ana');
  await page.keyboard.press('Enter');
  await page.getByText('1 row', { exact: true }).waitFor();
  await page.getByRole('row').nth(1).getByRole('button').click();
  await page.getByRole('dialog').getByText('<img src=x').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('tab', { name: 'Tokens' }).click();
  await page.getByRole('button', { name: 'Issue a token' }).click();
  await page.getByLabel('Label').fill('nightly');
  await page.getByLabel('Scope').selectOption('site/shop');
  await page.getByRole('button', { name: 'Add role' }).click();
  await page.getByText('viewer of site shop').waitFor();
  await page.getByRole('button', { name: 'Issue', exact: true }).click();
  await page.getByText('svc_at_NEWSECRET').waitFor();
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByRole('cell', { name: 'nightly', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Create user' }).click();
  await page.getByLabel('Id', { exact: true }).fill('ada');
  await page.getByRole('checkbox', { name: 'shop' }).check();
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('SHOWN-ONCE').waitFor();
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByRole('button', { name: 'Revoke sql_user_bi' }).click();
  await page.getByRole('button', { name: 'Revoke', exact: true }).last().click();
  await page.getByText('sql_user_bi was revoked').waitFor();
  await page.getByRole('button', { name: 'Revoke sql_user_ada' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('a definition that stopped is seen, tried on a pasted page that runs nothing, and changed', async () => {
  const api = withDefinitions(withDestinations(startStubApi()));
  const { page, context, faults } = await dashboard.visit('/sites/shop/definitions', api);
  await page.getByText('Stopped firing').waitFor();
  await page.getByRole('button', { name: 'add_to_cart' }).click();
  await page.getByRole('tab', { name: 'Test' }).click();
  await page.getByLabel('Page URLs').fill('https://shop.example/product/7\nhttps://shop.example/cart');
  await page.getByText('Does not match').waitFor();
  const html = `${CANARY}<script>document.title=1</script><button class="buy">Buy</button><button class="buy">Two</button>`;
  await page.getByLabel('Page HTML').fill(html);
  await page.getByText('Matches 2 elements').waitFor();
  await page.getByRole('tab', { name: 'Definition' }).click();
  await page.getByLabel('Element selector').fill('button.buy.now');
  await leaveBySlips(page);
  await page.getByRole('tab', { name: 'Test' }).click();
  await page.getByText('Matches nothing').waitFor();
  expect(await page.getByLabel('Page HTML').inputValue()).toBe(html);
  await page.getByRole('tab', { name: 'Definition' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved add_to_cart').waitFor();
  await page.getByRole('cell', { name: 'button.buy.now' }).waitFor();
  expect(await page.title()).toBe('Event definitions · shop · Dashboard');
  // The page's policy forbade the handler in the pasted page, as it does everywhere.
  expect(faults.filter((fault) => !fault.startsWith('script-src-attr inline'))).toEqual([]);
  await context.close();
});

test('rules of pages are written, previewed and saved by keyboard, on a phone', async () => {
  const sent: object[] = [];
  const api = withSettings(startStubApi());
  const answer = api.answer.bind(api);
  api.answer = (method, url, body) => {
    if (method !== 'GET' && body !== null) sent.push(body);
    return answer(method, url, body);
  };
  const { page, context, faults } = await dashboard.visit('/sites/shop/settings?view=pages', api);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByLabel('Join ids').focus();
  await page.keyboard.press('Space');
  await page.getByLabel('Patterns').fill('/blog/*\n /users/:id ');
  await page.getByLabel('Parameters that count').fill('tab');
  await page.getByRole('button', { name: 'Preview on the last day' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('5 pages become 4.').waitFor();
  await page.getByText('https://shop.example/B and 11 more').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false);
  await page.getByLabel('Ignore capitals').check();
  await page.getByText('The settings have changed since.').waitFor();
  await page.getByRole('button', { name: 'Save' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Saved the pages').waitFor();
  const pages = { ...PAGE_DEFAULTS, shorten_ids: true, rules: ['/blog/*', '/users/:id'], parameters: ['tab'] };
  expect(sent).toEqual([{ pages }, { pages: { ...pages, lower_case: true } }]);
  expect(faults).toEqual([]);
  await context.close();
});
