import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createPersonEraser } from '#infra/clickhouse/erasure/erase_rows.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { noIdentifiers } from '#pipelines/privacy/hash_identifiers.ts';
import { until } from '#test/harness/until.ts';
import { NOW_MS } from '#test/unit/control/harness.ts';
import { START, storedRow } from './few_rows.ts';
import { type QueryWorld, rowsOf, useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const PATH = 'sites/shop/cohorts';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const DAY_MINUTES = 24 * 60;

/** Distinct ids of who is in a cohort. */
async function idsIn(world: QueryWorld, cohort: string): Promise<string[]> {
  const answer = await world.ask<{ members: { distinct_id: string }[] }>('members', { cohort });
  return answer.members.map(({ distinct_id }) => distinct_id).sort();
}

const save = (world: QueryWorld, body: object) => world.control.call('POST', PATH, { body });
const add = (world: QueryWorld, id: string, members: object[]) =>
  world.control.call('POST', `${PATH}/${id}/members`, { body: { members } });
const trends = (filter: object, more: object = {}) => ({
  ...{ from: START - 1, to: START + 90 * 86_400_000, interval: 'month', fresh: true },
  ...{ series: [{ filters: [filter], ...more }] },
});
const link = (distinctId: string, target: string, version: number) => ({
  ...{ site_id: 'shop', kind: 'person' as const, person_id: basePersonId('shop', distinctId) },
  ...{ target: basePersonId('shop', target), first_seen: START, version },
});

test('members of a list are whoever they are when it is asked, by visitor, hash or typed address', async () => {
  const world = await create();
  const identifiers = { ...noIdentifiers(), email: sha256('ada@example.com') };
  await world.store([
    [
      ...['phone', 'laptop', 'bob', 'carol'].map((id) => storedRow(id, 'page_view', 0)),
      storedRow('ada', 'purchase', 1, { identifiers }),
    ],
  ]);
  expect((await save(world, { id: 'vips', name: 'VIPs <script> „é“ 💡' })).status).toBe(201);
  const added = await add(world, 'vips', [
    { distinct_id: 'phone' },
    { email: '  Ada@Example.com ' },
    { distinct_id: 'nobody-yet' },
    { email: 'no address' },
  ]);
  expect(added.body).toEqual({
    taken: 3,
    refused: 1,
    refusals: [{ at: 3, code: 'unreadable' }],
    listed: 3,
    replacement: null,
  });
  expect(JSON.stringify(await rowsOf(world.database, 'SELECT * FROM cohort_members'))).not.toMatch(/example/i);
  expect(await idsIn(world, 'vips')).toEqual(['ada', 'phone']);
  // Who is merged into a member is one, and the person whom a member becomes.
  await world.link([link('phone', 'laptop', 1), link('laptop', 'laptop', 1)]);
  const inList = { field: { cohort: 'vips' }, is: 'in' };
  const answer = await world.ask<{ series: { total: { events: number } }[] }>('trends', trends(inList));
  expect(JSON.stringify(answer)).toContain('3');
  const sizes = await world.ask('cohorts', { of: [{ cohort: 'vips' }] });
  expect(sizes).toEqual({ cohorts: [{ persons: 2, listed: 3 }] });
  const emptied = await world.control.call('DELETE', `${PATH}/vips/members`);
  expect(emptied.status).toBe(200);
  expect(await world.ask('cohorts', { of: [{ cohort: 'vips' }], fresh: true })).toEqual({
    cohorts: [{ persons: 0, listed: 0 }],
  });
  await until(
    'members',
    () => rowsOf(world.database, 'SELECT 1 FROM cohort_members'),
    (rows) => rows.length === 0,
  );
});

test('a list that another is to take the place of is read until that is whole, and deleted then', async () => {
  const world = await create();
  await world.store([['ann', 'bob', 'carl'].map((id) => storedRow(id, 'page_view', 0))]);
  await save(world, { id: 'vips', name: 'VIPs' });
  await add(world, 'vips', [{ distinct_id: 'ann' }]);
  const members = `${PATH}/vips/members`;
  const filled = await world.control.call('POST', members, {
    body: { replacement: 'new', members: [{ distinct_id: 'bob' }, { distinct_id: 'carl' }] },
  });
  const { replacement } = filled.body;
  expect(filled.body).toMatchObject({ taken: 2, listed: 2 });
  expect(await idsIn(world, 'vips')).toEqual(['ann']);
  expect((await world.control.call('PUT', members, { body: { replacement } })).status).toBe(200);
  expect(await idsIn(world, 'vips')).toEqual(['bob', 'carl']);
  const removed = await world.control.call('POST', `${members}/remove`, {
    body: { members: [{ distinct_id: 'bob' }] },
  });
  expect(removed.body).toEqual({ removed: 1, listed: 1 });
  expect(await idsIn(world, 'vips')).toEqual(['carl']);
  // What a list had before it is copied a second time is there twice until its parts are merged.
  await until(
    'members',
    () => rowsOf(world.database, 'SELECT DISTINCT list, kind, value FROM cohort_members'),
    (rows) => rows.length === 1,
  );
});

test('an erased person is in no list any more', async () => {
  const world = await create();
  const { warehouse, cluster } = world.database;
  await save(world, { id: 'vips', name: 'VIPs' });
  await add(world, 'vips', [{ distinct_id: 'ann' }, { distinct_id: 'bob' }, { email: 'ann@example.com' }]);
  const eraser = createPersonEraser(warehouse, cluster);
  const of = { erasure_id: 'e1', site_id: 'shop', until: NOW_MS };
  await eraser.begin([
    { ...of, kind: 'person', value: basePersonId('shop', 'ann') },
    { ...of, kind: 'email', value: sha256('ann@example.com') },
  ]);
  await eraser.deleteBesides();
  await until('mutations', eraser.underWay, (running) => running.size === 0);
  await eraser.end();
  expect(await rowsOf(world.database, 'SELECT value FROM cohort_members')).toEqual([
    { value: basePersonId('shop', 'bob') },
  ]);
});

test('pages of members go on, and thousands of them are no part of the statement', async () => {
  const world = await create();
  const ids = Array.from({ length: 4_000 }, (_, at) => `v-${at}`);
  await world.store([ids.slice(0, 30).map((id) => storedRow(id, 'page_view', 0))]);
  await save(world, { id: 'many', name: 'Many' });
  const added = await add(
    world,
    'many',
    ids.map((distinct_id) => ({ distinct_id })),
  );
  expect(added.body).toMatchObject({ taken: 4_000, listed: 4_000 });
  type Page = { total: number | null; members: { distinct_id: string }[]; next: string | null };
  const first = await world.ask<Page>('members', { cohort: 'many', limit: 20 });
  const then = await world.ask<Page>('members', { cohort: 'many', limit: 20, after: first.next });
  expect([first.total, first.members.length, then.members.length, then.next]).toEqual([30, 20, 10, null]);
  const all = [...first.members, ...then.members].map(({ distinct_id }) => distinct_id);
  expect(all.sort()).toEqual(ids.slice(0, 30).sort());
});

test('days are those of the site, whose clocks are changed, and the last days end today', async () => {
  const world = await create();
  const { etag } = await world.control.call('GET', 'sites/shop');
  await world.control.call('PATCH', 'sites/shop', { body: { time_zone: 'Europe/Berlin' }, ifMatch: etag });
  // Clocks are set back on 25 October: that day begins at 22:00 UTC and ends at 23:00 UTC.
  const at = (time: string): number => (Date.parse(time) - START) / 60_000;
  await world.store([
    [
      storedRow('before', 'visit', at('2026-10-24T21:59:59Z')),
      storedRow('first', 'visit', at('2026-10-24T22:00:00Z')),
      storedRow('last', 'visit', at('2026-10-25T22:59:00Z')),
      storedRow('after', 'visit', at('2026-10-25T23:00:00Z')),
      storedRow('today', 'visit', (NOW_MS - START) / 60_000),
      storedRow('yesterday', 'visit', (NOW_MS - START) / 60_000 - DAY_MINUTES),
    ],
  ]);
  const did = { events: ['visit'] };
  await save(world, { id: 'sunday', name: 'S', conditions: [{ did, since: '2026-10-25', until: '2026-10-25' }] });
  await save(world, { id: 'now', name: 'N', conditions: [{ did, last_days: 1 }] });
  await save(world, { id: 'never', name: 'Z', conditions: [{ did, is: 'exactly', times: 0, last_days: 2 }] });
  expect(await idsIn(world, 'sunday')).toEqual(['first', 'last']);
  expect(await idsIn(world, 'now')).toEqual(['today']);
  expect(await idsIn(world, 'never')).toEqual(['after', 'before', 'first', 'last']);
});

test('a cohort that was removed is no empty answer, and one of another site is none', async () => {
  const world = await create();
  await save(world, { id: 'buyers', name: 'Buyers', conditions: [{ did: { events: ['purchase'] } }] });
  const question = trends({ field: { cohort: 'buyers' }, is: 'in' });
  const saved = { id: 'theirs', name: 'Theirs', query: 'trends', question };
  expect((await world.control.call('POST', 'sites/shop/questions', { body: saved })).status).toBe(201);
  // Nobody is there yet.
  expect(await world.ask('cohorts', { of: [{ cohort: 'buyers' }, { conditions: [{ did: {} }] }] })).toEqual({
    cohorts: [
      { persons: 0, listed: null },
      { persons: 0, listed: null },
    ],
  });
  const { etag } = await world.control.call('GET', `${PATH}/buyers`);
  expect((await world.control.call('DELETE', `${PATH}/buyers`, { ifMatch: etag })).status).toBe(200);
  const asked = await world.control.call('GET', '/v1/query/shop/questions/theirs');
  expect([asked.status, asked.body.error.code]).toEqual([404, 'cohort_unknown']);
  await world.control.call('POST', 'sites', { body: { site_id: 'other', account_id: 'acme' } });
  await world.control.call('POST', 'sites/other/cohorts', { body: { id: 'buyers', name: 'Others' } });
  const foreign = await world.control.call('POST', '/v1/query/shop/trends', { body: question });
  expect(foreign.body.error.code).toBe('cohort_unknown');
});
