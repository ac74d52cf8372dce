import { beforeEach, expect, test } from 'vitest';
import { createLogger } from '#infra/log/logger.ts';
import type { DataRead } from '#schemas/records.ts';
import { createDataReadAudit, gateDataReads } from '#services/control/audit/routes.ts';
import { control, LABEL, NOW_MS } from './harness.ts';
import { grantOf, type ScopedWorld, scopedWorld } from './scoped_world.ts';

const JANE = 'jane-of-high-street';
const row = {
  ...{ event_id: 'e1', event: 'purchase', happened: 1, received: 2, distinct_id: JANE, person: JANE },
  ...{ action_source: 'website', mode: 'online', country: 'DE', value: null, currency: '', order_id: JANE },
  properties: '{}',
  ...{ text: 'DE', rest: 0, texts: 1, events: 1, persons: 1, units: '0' },
};
const times = { from: 1, to: 2 };

let world: ScopedWorld;
beforeEach(async () => {
  world = await scopedWorld([row, row]);
});

const ask = async (name: string, body: object, token?: string): Promise<void> => {
  const { status } = await world.call('POST', `/v1/query/shop/${name}`, { body, ...(token && { token }) });
  expect(status).toBe(200);
};
const noted = (): string[] =>
  world.dataReads.map(({ read_by, site_id, kind, format, rows }) => [read_by, site_id, kind, format, rows].join(' '));

test.each([
  ['live', {}, [`${LABEL} shop live json 2`]],
  ['timeline', { ...times, person_id: JANE }, [`${LABEL} shop timeline json 2`]],
  ['timeline?format=csv', { ...times, person_id: JANE }, [`${LABEL} shop timeline csv 2`]],
])('%s is noted with who, of which site, as what and how many rows', async (name, body, entries) => {
  await ask(name, body);
  expect(noted()).toEqual(entries);
  expect(JSON.stringify(world.dataReads)).not.toContain(JANE);
});

test('a question of many is noted only where its answer tells of single persons', async () => {
  const viewer = await world.tokenOf(grantOf('viewer', { site_id: 'shop' }));
  const top = { ...times, field: { column: 'country' } };
  await ask('top', top, viewer);
  expect(noted()).toEqual([]);
  await ask('top', { ...top, filters: [{ field: { column: 'distinct_id' }, is: 'equal', to: [JANE] }] });
  expect(noted()).toEqual([`${LABEL} shop top json 2`]);
});

test('what SQL answers is noted, and how much of it where rows are counted', async () => {
  const answer = JSON.stringify({ meta: [{ name: 'a', type: 'String' }], data: [[JANE], ['b'], ['c']] });
  const shop = await control(LABEL, undefined, undefined, async () => Buffer.from(answer));
  await shop.call('POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 1 } });
  await shop.call('POST', 'sites', { body: { site_id: 'shop', account_id: 'acme' } });
  for (const format of ['json', 'csv', 'parquet']) {
    await shop.bytes('POST', `/v1/query/shop/sql?format=${format}`, { sql: `SELECT '${JANE}'` });
  }
  expect(shop.dataReads.map(({ format, rows }) => [format, rows])).toEqual([
    ['json', 3],
    ['csv', 3],
    ['parquet', null],
  ]);
  expect(JSON.stringify(shop.dataReads)).not.toContain(JANE);
});

test('a dead letter that is opened is noted for each site whose events it shows, and what is refused is not', async () => {
  expect((await world.call('GET', 'dead-letters/dedup-0-2')).status).toBe(200);
  expect(noted()).toEqual([`${LABEL} shop dead_letter json 1`, `${LABEL} other dead_letter json 1`]);
  expect((await world.call('GET', 'dead-letters/dedup-0-99')).status).toBe(404);
  const viewer = await world.tokenOf(grantOf('viewer', { site_id: 'shop' }));
  const refused = await world.call('POST', '/v1/query/shop/timeline', {
    token: viewer,
    body: { ...times, person_id: JANE },
  });
  expect(refused.status).toBe(403);
  expect(noted()).toHaveLength(2);
});

test('reads are listed newest first for who reads the audit of the site, and cut to what was asked', async () => {
  const analyst = await world.tokenOf(grantOf('analyst'));
  await ask('live', {});
  world.clock.nowMs += 1_000;
  await ask('timeline', { ...times, person_id: JANE }, analyst);
  const other = await world.call('POST', '/v1/query/other/live', { body: {} });
  expect(other.status).toBe(200);
  const admin = await world.tokenOf(grantOf('admin', { account_id: 'acme' }));
  const listed = async (query: string, token = admin): Promise<string[]> =>
    (await world.call('GET', `audit/reads?${query}`, { token })).body.items.map(
      ({ site_id, kind }: { site_id: string; kind: string }) => `${site_id} ${kind}`,
    );
  expect(await listed('')).toEqual(['shop timeline', 'shop live']);
  expect(await listed('limit=1')).toEqual(['shop timeline']);
  expect(await listed('before=2')).toEqual(['shop live']);
  expect(await listed('kind=live')).toEqual(['shop live']);
  expect(await listed(`read_by=${LABEL}`)).toEqual(['shop live']);
  expect(await listed(`since=${NOW_MS + 1_000}`)).toEqual(['shop timeline']);
  expect(await listed(`until=${NOW_MS + 1_000}`)).toEqual(['shop live']);
  const owner = await world.tokenOf(grantOf('owner'));
  expect(await listed('site_id=other', owner)).toEqual(['other live']);
  for (const query of ['', 'site_id=shop']) {
    expect((await world.call('GET', `audit/reads?${query}`, { token: analyst })).status).toBe(403);
  }
});

test('entries that Kafka did not take are written with the next, and those that were counted at the end', async () => {
  const written: DataRead[] = [];
  let isAway = true;
  const append = async (reads: readonly DataRead[]): Promise<void> => {
    if (isAway) throw new Error('away');
    written.push(...reads);
  };
  const audit = createDataReadAudit({ append }, createLogger('test', 'silent'), () => NOW_MS);
  const read = { read_by: 'user:ada', site_id: 'shop', kind: 'sql', format: 'json', rows: 1 };
  audit.read(read);
  audit.read(read);
  await audit.sweep();
  expect(written).toEqual([]);
  isAway = false;
  await audit.stop();
  expect(written.map(({ reads, rows }) => [reads, rows])).toEqual([
    [1, 1],
    [1, 1],
  ]);
});

test('of who looks up reads one reading of Kafka is under way at a time, and two of all', async () => {
  const going: PromiseWithResolvers<{ reads: []; next: null }>[] = [];
  const list = gateDataReads({
    list() {
      going.push(Promise.withResolvers());
      return going.at(-1)?.promise ?? Promise.reject(new Error('nothing is under way'));
    },
  });
  const query = { beforeSeq: null, sinceMs: null, limit: 1, matches: () => true };
  const { signal } = new AbortController();
  const asked = ['ann', 'ann', 'bo', 'cy'].map((label) => list(query, { label, signal }));
  await new Promise((resolve) => setImmediate(resolve));
  expect(going).toHaveLength(2);
  for (let done = 0; done < asked.length; done++) {
    going[done]?.resolve({ reads: [], next: null });
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(asked);
  expect(going).toHaveLength(4);
});
