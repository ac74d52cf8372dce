import { expect, test } from 'vitest';
import { ALL_SITES } from '#infra/clickhouse/queries/running_queries.ts';
import { controlWithShop, LABEL } from './harness.ts';

const SHOP = '5fd2b51c-21a5-4d27-8b0b-2fb43d2e8a01';
const ALL = '5fd2b51c-21a5-4d27-8b0b-2fb43d2e8a02';
const figures = { askedBy: 'ann', runningMs: 2_400, rowsRead: 7, memoryBytes: 1024 };

test('queries that run are listed with whose they are, of all sites or of one', async () => {
  const world = await controlWithShop();
  world.running.push(
    { id: SHOP, siteId: 'shop', kind: 'funnel', ...figures },
    { id: ALL, siteId: ALL_SITES, kind: 'delivery-health', ...figures },
  );
  const funnel = { id: SHOP, site_id: 'shop', kind: 'funnel', asked_by: 'ann' };
  const { status, body } = await world.call('GET', 'queries');
  expect([status, body.items.map(({ site_id }: { site_id: string | null }) => site_id)]).toEqual([200, ['shop', null]]);
  expect((await world.call('GET', 'queries?site_id=shop')).body.items).toEqual([
    { ...funnel, running_ms: 2_400, rows_read: 7, memory_bytes: 1024 },
  ]);
});

test('a query is cancelled once, which the audit says, and then there is none', async () => {
  const world = await controlWithShop();
  world.running.push({ id: SHOP, siteId: 'shop', kind: 'sql', ...figures });
  const cancelled = await world.call('DELETE', `queries/${SHOP}`);
  expect([cancelled.status, cancelled.body.id, cancelled.body.asked_by]).toEqual([200, SHOP, 'ann']);
  expect(world.running).toEqual([]);
  const again = await world.call('DELETE', `queries/${SHOP}`);
  expect([again.status, again.body.error.code]).toEqual([404, 'query_unknown']);
  expect((await world.call('DELETE', 'queries/nonsense')).status).toBe(400);
  const { items } = (await world.call('GET', 'audit?setting_key=queries')).body;
  expect(items).toMatchObject([{ changed_by: LABEL, after: { cancel: SHOP } }]);
});
