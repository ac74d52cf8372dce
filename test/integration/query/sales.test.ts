import { expect, test } from 'vitest';
import { mergePersons } from '#infra/clickhouse/merge_persons.ts';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { FunnelAnswer } from '#pipelines/analytics/funnels/query.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { until } from '#test/harness/until.ts';
import { purchaseFunnel, START, storedRow } from './few_rows.ts';
import { rowsOf, useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const TILL = { action_source: 'physical_store', caller: 'server' } as const;
const TIME = { from: purchaseFunnel.from, to: purchaseFunnel.to, fresh: true };
const link = (from: string, to: string, version = 1) => ({
  site_id: 'shop',
  kind: 'person' as const,
  person_id: basePersonId('shop', from),
  target: basePersonId('shop', to),
  first_seen: START,
  version,
});

async function reached(world: Awaited<ReturnType<typeof create>>): Promise<number[]> {
  const { steps } = await world.ask<FunnelAnswer>('funnel', purchaseFunnel);
  return steps.map((step) => step.reached);
}

test("a sale at the till with the browser's distinct id completes the web funnel of that person only", async () => {
  const world = await create();
  await world.store([
    [storedRow('ann', 'page_view', 0), storedRow('bob', 'page_view', 1), storedRow('ann', 'purchase', 60, TILL)],
  ]);
  expect(await reached(world)).toEqual([2, 1]);
});

test('a sale at the till with only the e-mail completes it once the person is known, though that is after the sale', async () => {
  const world = await create();
  await world.store([
    [storedRow('ann', 'page_view', 0), storedRow('bob', 'page_view', 1), storedRow('till-7', 'purchase', 60, TILL)],
  ]);
  expect(await reached(world)).toEqual([2, 0]);
  await world.link([link('till-7', 'bob')]);
  expect(await reached(world)).toEqual([2, 1]);
  for (const named of [
    { distinct_id: 'till-7' },
    { distinct_id: 'bob' },
    { person_id: basePersonId('shop', 'till-7') },
  ]) {
    const { events } = await world.ask<Listing>('timeline', { ...TIME, ...named });
    expect(events.map(({ distinct_id, event }) => `${distinct_id} ${event}`)).toEqual([
      'till-7 purchase',
      'bob page_view',
    ]);
  }
});

test('the timeline of a person that became part of another is that of the whole person, after the nightly merge too', async () => {
  const world = await create();
  await world.store([
    [storedRow('ann', 'page_view', 0), storedRow('bob', 'page_view', 1), storedRow('till-7', 'purchase', 60, TILL)],
  ]);
  await world.link([link('till-7', 'bob')]);
  await mergePersons(world.database.warehouse);
  await until('the rows to be changed', async () => (await mergePersons(world.database.warehouse)).rows === 0);
  for (const person of ['till-7', 'bob']) {
    const { events } = await world.ask<Listing>('timeline', { ...TIME, person_id: basePersonId('shop', person) });
    expect(
      events.map(({ distinct_id }) => distinct_id),
      person,
    ).toEqual(['till-7', 'bob']);
  }
});

test('a session lands on the first page that it names, and is worth its conversions, by currency', async () => {
  const world = await create();
  const url = (name: string, text: unknown) => ({ properties: JSON.stringify({ [name]: text }) });
  const money = (value: number, currency: string) => ({ value, currency });
  await world.store([
    [
      storedRow('a', 'login', 0, url('url', 'not an address')),
      storedRow('a', 'page_view', 1, { ...money(99, 'EUR'), ...url('$current_url', 'https://shop.example/a') }),
      storedRow('a', 'add_to_cart', 2, { ...money(20, 'EUR'), ...url('page_location', 'https://shop.example/b') }),
      storedRow('a', 'purchase', 3, money(20, 'EUR')),
      storedRow('a', 'Order Completed', 4, money(5, 'EUR')),
      storedRow('b', 'purchase', 0, { ...money(1, 'EUR'), ...url('page', { url: 'https://shop.example/c' }) }),
      storedRow('b', 'purchase', 1, money(2, 'USD')),
      storedRow('c', 'page_view', 0, money(7, 'USD')),
    ],
  ]);
  const query = `SELECT landing_url, conversions, value, currency, value_by_currency FROM sessions
    ORDER BY conversions, length(value_by_currency)`;
  const page = 'https://shop.example';
  expect(await rowsOf(world.database, query)).toEqual([
    { landing_url: `${page}/`, conversions: 0, value: 0, currency: '', value_by_currency: {} },
    { landing_url: `${page}/a`, conversions: 2, value: 25, currency: 'EUR', value_by_currency: { EUR: 25 } },
    { landing_url: `${page}/c`, conversions: 2, value: null, currency: '', value_by_currency: { EUR: 1, USD: 2 } },
  ]);
});

test('sessions of a time are those of all that began in it, whole, and other parts of the table are not read', async () => {
  const world = await create();
  const day = 24 * 60;
  await world.store([
    [
      ...[-40, -20, 5].map((minute) => storedRow('before', 'page_view', minute)),
      ...[-31, 0, 29].map((minute) => storedRow('at-begin', 'page_view', minute)),
      ...[day - 1, day + 20, day + 45].map((minute) => storedRow('over-end', 'page_view', minute)),
      storedRow('after', 'page_view', day),
      ...Array.from({ length: 40 * day }, (_, minute) => storedRow(`other-${minute}`, 'page_view', 2 * day + minute)),
    ],
  ]);
  const iso = (minute: number): string => new Date(START + minute * 60_000).toISOString().slice(0, 19);
  const between = `sessions_between(begin = '${iso(0)}', end = '${iso(day)}')`;
  const columns = 'person_id, toString(started_at) AS started, events, names, landing_url, conversions';
  const rows = await rowsOf<{ events: number }>(
    world.database,
    `SELECT ${columns} FROM ${between} ORDER BY started_at`,
  );
  expect(rows.map(({ events }) => events)).toEqual([2, 3]);
  const filtered = `SELECT ${columns} FROM sessions WHERE started_at >= '${iso(0)}' AND started_at < '${iso(day)}'`;
  expect(rows).toEqual(await rowsOf(world.database, `${filtered} ORDER BY started_at`));
  const read = async (table: string): Promise<number> => {
    const query = `SELECT count() FROM ${table}`;
    const answer = await (await world.database.warehouse.query({ query, format: 'JSON' })).json();
    return answer.statistics?.rows_read ?? Number.NaN;
  };
  expect(await read(between)).toBeLessThan((await read('sessions')) / 2);
});

test('a merge that is corrected by a newer one counts as the newer one has it', async () => {
  const world = await create();
  await world.store([
    [storedRow('ann', 'page_view', 0), storedRow('bob', 'page_view', 1), storedRow('x', 'purchase', 2)],
  ]);
  await world.link([link('x', 'ann', 1), link('x', 'bob', 2)]);
  const { events } = await world.ask<Listing>('timeline', { ...TIME, distinct_id: 'x' });
  expect(events.map(({ distinct_id }) => distinct_id)).toEqual(['x', 'bob']);
});
