import { beforeEach, expect, test } from 'vitest';
import { type Control, control } from './harness.ts';

let world: Control;
beforeEach(async () => {
  world = await control();
  await world.call('POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 1 } });
  await world.call('POST', 'sites', { body: { site_id: 'shop', account_id: 'acme' } });
  const body = { name: 'crm', settings: { url: 'https://crm.example/' }, secrets: { token: 'open-sesame' } };
  await world.call('POST', 'sites/shop/destinations', { body });
  world.journal.records.length = 0;
});

test('a test event goes out once, marked, by the settings there are, and stands in the audit without an answer', async () => {
  const { status, body } = await world.call('POST', 'sites/shop/destinations/crm/test', {
    body: { event: 'purchase' },
  });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    ...{ event: 'purchase', outcome: 'delivered', reason: '', took_ms: 12, as_test: false },
    answer: { status: 200, body: 'ok' },
  });
  const [sent, ...more] = world.tried;
  expect(more).toEqual([]);
  expect(sent?.entry.event).toMatchObject({ event_id: body.event_id, event: 'purchase', site_id: 'shop' });
  expect(JSON.parse(sent?.entry.event.properties ?? '{}')).toMatchObject({ svc_test: true });
  const audits = world.journal.records.map(({ setting }) => setting?.audit);
  expect(audits).toMatchObject([{ setting_key: 'destination/shop/crm', after: '{"test":"purchase"}' }]);
});

test('of a site or destination that is not there nothing is sent', async () => {
  const codes = await Promise.all(
    ['sites/shop/destinations/meta/test', 'sites/other/destinations/crm/test'].map(
      async (path) => (await world.call('POST', path, { body: {} })).body.error.code,
    ),
  );
  expect(codes).toEqual(['destination_unknown', 'site_unknown']);
  expect(world.tried).toEqual([]);
});

test('stages are those of the pipeline and of the destinations that are switched on, with what is not seen', async () => {
  const { body } = await world.call('GET', 'stages');
  const names = body.items.map(({ stage }: { stage: string }) => stage);
  expect(names).toEqual(['dedup', 'quota', 'identity', 'warehouse', 'delivery.crm']);
  expect(body.not_seen.length).toBeGreaterThan(0);
});
