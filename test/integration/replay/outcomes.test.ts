import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { queryLedger } from '#infra/clickhouse/delivery_ledger.ts';
import type { AttemptItem, HealthItem } from '#services/control_api/destinations.ts';
import type { DeadLetterDetails, DeadLetterItem } from '#services/control_api/redelivery.ts';
import { knownOf } from '#services/redelivery/event_selector.ts';
import { NOW_MS } from '#test/unit/control/harness.ts';
import { shownDeadLetter } from '#test/unit/control/memory_letters.ts';
import { useQueryWorld } from '../query/query_world.ts';

const TEST_MS = 120_000;
const world = useQueryWorld();
const MINUTE_MS = 60_000;
/** When events arrived that were tried again and again. */
const ARRIVED_MS = NOW_MS - 60 * MINUTE_MS;
const DAYS_MS = 2 * 24 * 60 * MINUTE_MS;

type Outcome = 'delivered' | 'skipped' | 'diverted' | 'dead' | 'paused';

/** Outcomes of one event each, in order, a minute apart, the last of them a minute ago; received a second before. */
function rows(site_id: string, destination: string, outcomes: [offset: number, outcome: Outcome, reason?: string][]) {
  return outcomes.map(([offset, outcome, reason = ''], index) => {
    const attempted_at = NOW_MS - (outcomes.length - index) * MINUTE_MS;
    return {
      ...{ site_id, destination, event_id: `e${offset}`, event: 'purchase' },
      ...{ coordinate_partition: 0, coordinate_offset: offset, coordinate_index: 2 },
      ...{ outcome, reason, attempt: 1, received_at: attempted_at - 1_000, attempted_at, took_ms: 40 },
    };
  });
}

/** Outcomes of events that arrived an hour ago. */
const rowsSince = (...of: Parameters<typeof rows>) => rows(...of).map((row) => ({ ...row, received_at: ARRIVED_MS }));

test('an event waits while its newest outcome says so, however often it was tried and however long ago', {
  timeout: TEST_MS,
}, async () => {
  const { database, control } = await world();
  const old = rows('long', 'tiktok', [[1, 'paused', 'token_invalid']]).map((row) => ({
    ...row,
    attempted_at: row.attempted_at - DAYS_MS,
  }));
  await insertBlock(database.warehouse, 'delivery_outcomes', 'waiting', [
    ...old,
    ...rows('w', 'tiktok', [
      [1, 'diverted', 'http_500'],
      [1, 'diverted', 'http_500'],
      [1, 'diverted', 'http_500'],
      [2, 'diverted', 'http_500'],
      [2, 'delivered'],
      [3, 'paused', 'breaker_open'],
      [3, 'skipped', 'too_old'],
      [4, 'paused', 'breaker_open'],
      [4, 'dead', 'too_old'],
      [5, 'paused', 'breaker_open'],
      [6, 'delivered'],
    ]),
  ]);
  const { items } = (await control.call('GET', 'delivery-health?destination=tiktok')).body as { items: HealthItem[] };
  expect(items.map(({ site_id, attempts, waiting }) => ({ site_id, attempts, waiting }))).toEqual([
    { site_id: 'long', attempts: 0, waiting: 1 },
    { site_id: 'w', attempts: 7, waiting: 2 },
  ]);
  expect(items[0]).toMatchObject({
    state: 'waits_for_settings',
    delivered_at: null,
    took_ms: { p50: 0, p99: 0 },
    skipped: {},
  });
});

test('what died is lost until the destination has it, is tried again or skips it; the outcomes stay counted', {
  timeout: TEST_MS,
}, async () => {
  const { database, control } = await world();
  const DAY_MS = 24 * 60 * MINUTE_MS;
  const before = rows('d', 'reddit', [[8, 'dead', 'http_400']]).map((row) => ({
    ...row,
    attempted_at: row.attempted_at - DAY_MS,
  }));
  await insertBlock(database.warehouse, 'delivery_outcomes', 'failed', [
    ...before,
    ...rows('d', 'reddit', [
      [1, 'dead', 'http_400'],
      [2, 'dead', 'http_400'],
      [3, 'dead', 'http_400'],
      [4, 'dead', 'http_400'],
      [5, 'delivered'],
      [5, 'dead', 'http_400'],
      [6, 'dead', 'http_400'],
      [2, 'delivered'],
      [3, 'diverted', 'http_500'],
      [4, 'skipped', 'too_old'],
      [6, 'dead', 'http_400'],
    ]),
  ]);
  const { items } = (await control.call('GET', 'delivery-health?destination=reddit')).body as { items: HealthItem[] };
  expect(items).toMatchObject([{ site_id: 'd', dead: 7, failed: 2, waiting: 1 }]);
});

test('letters of deliveries are compared with the outcomes of their events', { timeout: TEST_MS }, async () => {
  const { database, control } = await world();
  await insertBlock(database.warehouse, 'delivery_outcomes', 'letters', [
    ...rows('l', 'meta', [
      [1, 'dead', 'http_400'],
      [2, 'dead', 'http_400'],
      [3, 'dead', 'http_400'],
      [2, 'delivered'],
      [3, 'paused', 'breaker_open'],
      [5, 'diverted', 'http_500'],
    ]),
    ...rows('l', 'webhook', [[1, 'delivered']]),
  ]);
  control.deadLetters.deadLetters = [1, 2, 3, 4, 5].map((offset) => {
    // The last one died after its last attempt.
    const died_at = offset === 5 ? NOW_MS : 5;
    const deadLetter = shownDeadLetter(offset, { stage: 'delivery', destination: 'meta', reason: 'http_400', died_at });
    const of = { siteId: 'l', eventId: `e${offset}`, coordinate: { partition: 0, offset, index: 2 } };
    return { ...deadLetter, views: (deadLetter.views ?? []).map((view) => ({ ...view, ...of, receivedAtMs: NOW_MS })) };
  });
  const { items } = (await control.call('GET', 'dead-letters')).body as { items: DeadLetterItem[] };
  expect(items.map(({ id, delivery, resendable }) => [id, delivery, resendable])).toEqual([
    ['delivery-0-1', 'dead', true],
    ['delivery-0-2', 'delivered', false],
    ['delivery-0-3', 'waiting', false],
    ['delivery-0-4', 'dead', true],
    ['delivery-0-5', 'dead', true],
  ]);
  const { attempts } = (await control.call('GET', 'dead-letters/delivery-0-2')).body as DeadLetterDetails;
  expect(attempts?.map(({ outcome, event }) => `${outcome} ${event}`)).toEqual([
    'delivered page_view',
    'dead page_view',
  ]);
  control.deadLetters.deadLetters = [];
});

test('health is told by site and destination, by the newest attempt', { timeout: TEST_MS }, async () => {
  const { database, control } = await world();
  await insertBlock(database.warehouse, 'delivery_outcomes', 'one', [
    ...rows('a', 'meta', [
      [1, 'diverted', 'http_500'],
      [1, 'delivered'],
      [2, 'delivered'],
      [3, 'skipped', 'no_value'],
    ]),
    ...rows('b', 'meta', [
      [4, 'delivered'],
      [5, 'paused', 'token_invalid'],
    ]),
    ...rows('c', 'meta', [
      [6, 'dead', 'http_400'],
      [7, 'diverted', 'http_500'],
      [8, 'paused', 'breaker_open'],
    ]),
    ...rows('d', 'meta', [[1, 'paused', 'breaker_open']]),
    // What stays paused for days has an outcome of its first pause alone.
    ...rows('e', 'meta', [[1, 'paused', 'settings_invalid']]).map((row) => ({
      ...row,
      attempted_at: NOW_MS - DAYS_MS,
    })),
    ...rows('a', 'webhook', [
      [8, 'skipped', 'too_old'],
      [9, 'skipped', 'too_old'],
    ]),
  ]);
  const ask = async (query = '') => (await control.call('GET', `delivery-health${query}`)).body.items as HealthItem[];
  expect((await ask()).map(({ site_id, destination, state, reason }) => [destination, site_id, state, reason])).toEqual(
    [
      ['meta', 'a', 'delivering', ''],
      ['meta', 'b', 'waits_for_settings', 'token_invalid'],
      ['meta', 'c', 'failing', 'http_500'],
      ['meta', 'd', 'failing', 'breaker_open'],
      ['meta', 'e', 'waits_for_settings', 'settings_invalid'],
      ['webhook', 'a', 'idle', ''],
    ],
  );
  expect(await ask('?site_id=a&destination=meta')).toMatchObject([
    {
      ...{ attempts: 3, delivered: 2, diverted: 1, dead: 0, paused: 0, skipped: { no_value: 1 } },
      ...{ delivered_at: NOW_MS - 2 * MINUTE_MS, failed_at: NOW_MS - 4 * MINUTE_MS, failed_reason: 'http_500' },
      ...{ took_ms: { p50: 40, p99: 40 }, age_ms: { p50: 1_000, p99: 1_000 } },
    },
  ]);
  expect(await ask('?destination=webhook')).toMatchObject([
    { skipped: { too_old: 2 }, delivered_at: null, failed_at: null, age_ms: { p50: 0, p99: 0 } },
  ]);
});

const answeredRow = <Row extends { reason: string }>(row: Row) =>
  row.reason === 'meta_100'
    ? { ...row, answer_status: 400, answer: 'no value' }
    : { ...row, answer_status: 0, answer: '' };

test('the newest attempts of a destination are listed with their answers, without what was left out', {
  timeout: TEST_MS,
}, async () => {
  const { database, control } = await world();
  const made = rows('shop', 'meta', [
    [1, 'diverted', 'http_503'],
    [2, 'skipped', 'too_old'],
    [3, 'dead', 'meta_100'],
    [1, 'delivered'],
  ]);
  await insertBlock(
    database.warehouse,
    'delivery_outcomes',
    'attempts',
    [
      ...made,
      ...rows('shop', 'webhook', [[9, 'delivered']]),
      ...rows('other', 'meta', [[9, 'delivered']]),
      ...rows('shop', 'meta', [[8, 'delivered']]).map((row) => ({
        ...row,
        attempted_at: row.attempted_at - 31 * 24 * 60 * MINUTE_MS,
      })),
    ].map(answeredRow),
  );
  const ask = async (query: string) => {
    const { body } = await control.call('GET', `sites/shop/destinations/meta/attempts${query}`);
    return body.items as AttemptItem[];
  };
  const ids = async (query: string) => (await ask(query)).map(({ event_id, outcome }) => `${event_id} ${outcome}`);
  expect(await ids('')).toEqual(['e1 delivered', 'e3 dead', 'e1 diverted']);
  expect(await ids('?limit=1')).toEqual(['e1 delivered']);
  expect(await ids('?outcome=skipped')).toEqual(['e2 skipped']);
  const [, dead, diverted] = await ask('');
  expect(dead).toEqual({
    ...{ event_id: 'e3', event: 'purchase', attempt: 1, attempted_at: NOW_MS - 2 * MINUTE_MS, outcome: 'dead' },
    ...{ reason: 'meta_100', took_ms: 40, answer: { status: 400, body: 'no value' } },
  });
  expect(diverted?.answer).toBeNull();
  expect((await control.call('GET', 'sites/none/destinations/meta/attempts')).body.error.code).toBe('site_unknown');
});

test('the ledger says what is delivered and what was last, of what is asked and no more', {
  timeout: TEST_MS,
}, async () => {
  const { database } = await world();
  await insertBlock(database.warehouse, 'delivery_outcomes', 'two', [
    ...rowsSince('a', 'meta', [
      [1, 'delivered'],
      [1, 'dead'],
      [2, 'dead'],
      [2, 'diverted'],
      [3, 'paused'],
      [3, 'dead'],
      [5, 'delivered'],
    ]),
    ...rowsSince('a', 'webhook', [[4, 'delivered']]),
    ...rowsSince('b', 'meta', [[4, 'delivered']]),
  ]);
  const places = [1, 2, 3, 4].map((offset) => ({ partition: 0, offset, index: 2 }));
  const arrived = { firstMs: ARRIVED_MS, lastMs: ARRIVED_MS };
  const question = { destination: 'meta', siteIds: ['a'], arrived, places };
  const found = await queryLedger(database.warehouse, question);
  const inOrder = found.toSorted((one, other) => one.offset - other.offset);
  expect(inOrder.map(({ offset, delivered, latest }) => [offset, delivered, latest])).toEqual([
    [1, true, 'dead'],
    [2, false, 'diverted'],
    [3, false, 'dead'],
  ]);
  expect(await queryLedger(database.warehouse, { ...question, places: [] })).toEqual([]);
});

test('what is delivered, waits or was skipped is told apart from what was given up and what nobody tried', {
  timeout: TEST_MS,
}, async () => {
  const { database } = await world();
  await insertBlock(database.warehouse, 'delivery_outcomes', 'known', [
    ...rowsSince('k', 'meta', [
      [1, 'diverted'],
      [1, 'skipped', 'too_old'],
      [2, 'skipped', 'too_old'],
      [2, 'delivered'],
      [3, 'diverted'],
      [4, 'dead'],
    ]),
  ]);
  const views = [1, 2, 3, 4, 5].map((offset) => ({
    ...{ coordinate: { partition: 0, offset, index: 2 }, siteId: 'k', eventId: `e${offset}`, distinctId: 'v' },
    ...{ receivedAtMs: ARRIVED_MS, personBytes: Buffer.alloc(0), eventBytes: Buffer.alloc(0) },
  }));
  const known = await knownOf(database.warehouse, 'meta', views);
  expect([...known].sort(([a], [b]) => a.localeCompare(b))).toEqual([
    ['0/1/2', 'skipped'],
    ['0/2/2', 'delivered'],
    ['0/3/2', 'pending'],
    ['0/4/2', 'open'],
  ]);
  // Its letter was written without an outcome, behind the attempt or before it.
  for (const [diedAtMs, expected] of [
    [2 * NOW_MS, 'open'],
    [0, 'pending'],
  ] as const) {
    const now = await knownOf(database.warehouse, 'meta', views, new Map([['0/3/2', diedAtMs]]));
    expect(now.get('0/3/2')).toBe(expected);
  }
});
