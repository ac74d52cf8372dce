import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations } from '../harness/axe.ts';
import {
  CANARY,
  withDeadLetters,
  withDestinations,
  withKeys,
  withReplays,
  withStages,
} from './harness/operations_answers.ts';
import { refusal, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

test('a destination that fails says what to do, and its settings are changed by keyboard', async () => {
  let sent: object | null = null;
  const api = withDestinations(startStubApi()).on('POST', /\/destinations\/meta\/retry$/, {});
  api.on('PATCH', /\/destinations\/meta$/, (body) => {
    sent = body;
    if (sent !== null && 'settings' in sent) return sent;
    return refusal(400, 'settings_invalid');
  });
  const { page, context, faults } = await dashboard.visit('/sites/shop/destinations', api);
  const row = page.getByRole('row', { name: /^Meta/ });
  await row.getByText('Failing').waitFor();
  await row.getByRole('button').focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Deliveries are retried automatically').waitFor();
  await dialog.getByRole('button', { name: 'Retry now' }).click();
  await page.getByText('What waits is being sent').waitFor();
  await dialog.getByRole('tab', { name: 'Health' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await dialog.getByLabel('Pixel or dataset id').fill('99887766');
  expect(await dialog.getByLabel('Access token').inputValue()).toBe('');
  await page.keyboard.press('Enter');
  await page.getByText('Saved the settings of Meta').waitFor();
  expect(sent).toEqual({ settings: { pixel_id: '99887766' } });
  expect(faults).toEqual([]);
  await context.close();
});

test('of a destination that delivered nothing no delay is told, which would be none', async () => {
  const { page, context } = await dashboard.visit(
    '/sites/shop/destinations?destination=ga4',
    withDestinations(startStubApi()),
  );
  const facts = page.getByRole('dialog').locator('dl');
  await facts.getByText('Median 41 ms, 99th percentile 230 ms').waitFor();
  expect(await facts.locator('dt', { hasText: 'Delay since arrival' }).locator('+ dd').textContent()).toBe('–');
  await context.close();
});

test('a second destination of a kind is added under a name of its own, by keyboard, on a phone', async () => {
  let sent: object | null = null;
  const api = withDestinations(startStubApi()).on('POST', /\/destinations$/, (body) => {
    sent = body;
    return { site_id: 'shop', name: 'webhook-crm', kind: 'webhook', enabled: false, settings: {}, secrets: [] };
  });
  const { page, context, faults } = await dashboard.visit('/sites/shop/destinations', api);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole('button', { name: 'Add destination' }).focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Platform').selectOption('webhook');
  await dialog.getByLabel('Name', { exact: true }).fill('crm');
  await dialog.getByText('its id is then webhook-crm').waitFor();
  await dialog.getByLabel('Address', { exact: true }).fill('https://crm.shop.example/in');
  await dialog.getByRole('button', { name: 'Generate secret' }).click();
  const secret = await dialog.getByLabel('Signing secret', { exact: true }).inputValue();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  await dialog.getByRole('button', { name: 'Copy signing secret' }).waitFor();
  await dialog.getByLabel('Address', { exact: true }).focus();
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await page.getByText('Signed webhook was added').waitFor();
  expect(sent).toEqual({
    ...{ name: 'webhook-crm', enabled: false, settings: { url: 'https://crm.shop.example/in' } },
    secrets: { secret },
  });
  expect(faults).toEqual([]);
  await context.close();
});

test('rules are written, ordered, previewed and saved by keyboard, on a phone', async () => {
  const sent: object[] = [];
  const preview = { event_id: 'e-1', event: CANARY, received_at: Date.now(), rule: 0, sent_as: null };
  const api = withDestinations(startStubApi())
    .on('PATCH', /\/destinations\/meta$/, (body) => {
      sent.push(body ?? {});
      return body ?? {};
    })
    .on('POST', /\/destinations\/meta\/rules\/preview$/, (body) => {
      sent.push(body ?? {});
      return { items: [{ ...preview, skipped: 'rule', dropped: [] }] };
    });
  const { page, context, faults } = await dashboard.visit('/sites/shop/destinations?destination=meta&view=rules', api);
  await page.setViewportSize({ width: 390, height: 844 });
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Add a rule' }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  const [first, second] = [
    dialog.getByRole('group', { name: 'Rule 1' }),
    dialog.getByRole('group', { name: 'Rule 2' }),
  ];
  await first.getByLabel('Events').fill('quiz_*, lead');
  await first.getByLabel('Under the name').fill('generate_lead');
  await first.getByLabel('Without properties').fill('email, utm_*');
  await second.getByLabel('Events').fill('page_*');
  await second.getByLabel('Action').selectOption('skip');
  await dialog.getByRole('button', { name: 'Move rule 2 up' }).focus();
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Preview on the newest events' }).click();
  await dialog.getByText('Not sent: a rule of this destination').waitFor();
  await dialog.getByRole('cell', { name: CANARY }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  expect(wide).toBe(false);
  await dialog.getByRole('button', { name: 'Save' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Saved the rules of Meta').waitFor();
  const rules = [
    { events: ['page_*'], send: false, rename_to: null, drop_properties: [] },
    { events: ['quiz_*', 'lead'], send: true, rename_to: 'generate_lead', drop_properties: ['email', 'utm_*'] },
  ];
  expect(sent).toEqual([{ rules }, { rules }]);
  expect(faults).toEqual([]);
  await context.close();
});

test('a dead letter is looked at and sent in again, and so are all of a reason', async () => {
  const api = withDeadLetters(startStubApi());
  const { page, context, faults } = await dashboard.visit('/dead-letters', api);
  await page.getByRole('button', { name: CANARY, exact: true }).waitFor();
  await page.getByRole('button', { name: 'transform_failed' }).click();
  await page.getByRole('heading', { name: 'warehouse: transform_failed' }).waitFor();
  await page
    .getByRole('region', { name: 'Dead letters', exact: true })
    .getByRole('row')
    .nth(1)
    .getByRole('button')
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('cell', { name: CANARY }).waitFor();
  await dialog.getByRole('button', { name: 'Resend' }).click();
  await page.getByText('1 dead letter resent').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Resend all (23)' }).click();
  await page.getByRole('button', { name: 'Resend', exact: true }).click();
  await page.getByText('23 dead letters resent').waitFor();
  expect(await page.locator('main img').count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

test('while another list is asked for, nothing is done about the letters of the one before', async () => {
  const { page, context } = await dashboard.visit('/dead-letters', withDeadLetters(startStubApi()));
  const all = page.getByRole('button', { name: /^(Resolve|Resend) all/ });
  await page.getByRole('button', { name: 'Resolve all (31)' }).waitFor();
  expect(await all.count()).toBe(2);
  const answered = Promise.withResolvers<void>();
  await page.route(/dead-letters\?.*destination=meta/, async (route) => {
    await answered.promise;
    await route.continue();
  });
  const asked = page.waitForRequest(/destination=meta/);
  await page.evaluate(() => {
    history.pushState(null, '', '?destination=meta');
    dispatchEvent(new PopStateEvent('popstate'));
  });
  await asked;
  await page.getByText('Only deliveries to').waitFor();
  expect(await all.count()).toBe(0);
  answered.resolve();
  await page.getByRole('button', { name: 'Resolve all (1)' }).waitFor();
  await context.close();
});

test('a replay is counted before it is sent, and can be paused', async () => {
  const api = withReplays(startStubApi());
  const { page, context, faults } = await dashboard.visit('/replays?new=1&destination=meta&site=shop', api);
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Count events' }).click();
  await dialog
    .getByText(
      '812 events to send, of which 12 were skipped before and may be skipped again, 88 already delivered, about 1.6 s at 500 a second',
    )
    .waitFor();
  await dialog.getByRole('button', { name: 'Send 812 events' }).click();
  await page.getByRole('heading', { name: 'Replay to Meta' }).waitFor();
  expect(api.requests.filter((one) => one === 'POST /v1/admin/replays').length).toBe(2);
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await dialog.getByRole('button', { name: 'Resume' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('a key is issued, rotated and revoked; one of a browser is readable afterwards', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/keys', withKeys(startStubApi()));
  const dialog = page.getByRole('dialog');
  await page.getByText(CANARY).waitFor();
  await page.getByRole('button', { name: 'Issue a key' }).click();
  await dialog.getByLabel('Label').fill('Blog');
  await page.keyboard.press('Enter');
  await dialog.getByText('svc_pk_new01SECRET').waitFor();
  await dialog.getByText('stays readable here').waitFor();
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByRole('button', { name: /svc_pk_4fGh2/ }).click();
  await dialog.getByText('svc_pk_4fGh2SECRET', { exact: true }).waitFor();
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  await dialog.getByText('svc_pk_rot01SECRET').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.mouse.click(5, 5);
  await dialog.getByText('svc_pk_rot01SECRET').waitFor();
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /svc_sk_9aXk1/ }).click();
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog', { name: 'Revoke the key?' }).getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('The key was revoked').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('a test event is sent from the destination, and what the platform answered is a text', async () => {
  const api = withStages(withDestinations(startStubApi()));
  const { page, context, faults } = await dashboard.visit('/sites/shop/destinations?destination=meta&view=test', api);
  const dialog = page.getByRole('dialog');
  await dialog.getByText('cannot tell that this is a test').waitFor();
  await dialog.getByLabel('Test event code').fill('TEST1');
  await dialog.getByText('cannot tell that this is a test').waitFor({ state: 'hidden' });
  await page.keyboard.press('Enter');
  await dialog.getByText('Rejected').waitFor();
  await dialog.getByText(`400 ${CANARY}`).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  expect(faults).toEqual([]);
  await context.close();
});

test('stages that are behind or do not run are seen, with what died in them, and what is not seen from here', async () => {
  const { page, context, faults } = await dashboard.visit('/operations', withStages(withDeadLetters(startStubApi())));
  await page.getByRole('row', { name: /^identity .* 12,400 41.5 > 10 min Behind/ }).waitFor();
  await page.getByRole('row', { name: /^delivery.meta .* Not running/ }).waitFor();
  await page.getByText('Not monitored here').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  const table = page.getByRole('region', { name: 'Stages with their lag' });
  const { right } = await table.evaluate((one) => one.getBoundingClientRect());
  for (const name of ['Stage', 'Lag', 'Records/s', 'Oldest lag']) {
    const heading = table.getByRole('columnheader', { name, exact: true });
    expect(await heading.evaluate((one) => one.getBoundingClientRect().right), name).toBeLessThanOrEqual(right);
  }
  expect(await axeViolations(page)).toEqual([]);
  await page
    .getByRole('row', { name: /^warehouse/ })
    .getByRole('link')
    .click();
  await page.getByRole('heading', { level: 1, name: 'Dead letters' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('rates of currencies are loaded from a file, told what is wrong with one, and removed', async () => {
  let loaded: { base: string | null; currencies: object[] } = { base: null, currencies: [] };
  const sent: object[] = [];
  const api = withStages(withDeadLetters(startStubApi()))
    .on('GET', '/v1/admin/rates', () => loaded)
    .on('PUT', '/v1/admin/rates', (body) => {
      sent.push(body ?? {});
      const days = { first: '2026-11-09', last: '2026-11-10', days: 2 };
      loaded = {
        base: 'EUR',
        currencies: [
          { currency: 'EUR', ...days },
          { currency: 'USD', ...days },
        ],
      };
      return loaded;
    })
    .on('DELETE', '/v1/admin/rates', () => {
      loaded = { base: null, currencies: [] };
      return loaded;
    });
  const { page, context, faults } = await dashboard.visit('/operations', api);
  const panel = page.getByRole('region', { name: 'Exchange rates' });
  await panel.getByText('No rates are loaded').waitFor();
  const choose = (text: string) =>
    panel
      .getByLabel('From a file')
      .setInputFiles({ name: 'rates.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
  await choose('Date,USD\n2026-11-09,1,25\n');
  await panel.getByText('Line 2: has 3 fields, and the first line 2.').waitFor();
  expect(await panel.getByRole('button', { name: 'Load rates' }).isDisabled()).toBe(true);
  await choose('Date,USD,\n2026-11-09,1.25,\n2026-11-10,N/A,\n');
  await panel.getByRole('button', { name: 'Load 1 rate' }).click();
  await panel.getByRole('row', { name: /USD.*2026-11-09/ }).waitFor();
  expect(sent).toEqual([{ base: 'EUR', rates: [{ day: '2026-11-09', currency: 'USD', rate: 1.25 }] }]);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 844 });
    expect(await axeViolations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  }
  await panel.getByRole('button', { name: 'Remove all rates' }).click();
  const dialog = page.getByRole('dialog', { name: 'Remove all rates?' });
  await dialog.getByRole('button', { name: 'Remove all rates' }).click();
  await panel.getByText('No rates are loaded').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});
