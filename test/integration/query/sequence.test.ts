import { expect, test } from 'vitest';
import type { FunnelAnswer, FunnelQuery } from '#pipelines/analytics/funnels/query.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { purchaseFunnel, START, storedRow } from './few_rows.ts';
import { type QueryWorld, useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const MINUTE_MS = 60_000;
const ACTOR_EVENTS_MAX = 1_000_000;

async function reached(world: QueryWorld, query: Partial<FunnelQuery> = {}): Promise<(number | undefined)[]> {
  const { steps } = await world.ask<FunnelAnswer>('funnel', { ...purchaseFunnel, ...query });
  return steps.flatMap((step) => [step.reached, step.time_ms?.median]);
}

/** Rows of one event stay as they are inserted, though a merge would leave one of them. */
async function unmerged(): Promise<QueryWorld> {
  const world = await create();
  await world.database.warehouse.command({ query: 'SYSTEM STOP MERGES event_rows' });
  return world;
}

test.for<[string, Partial<FunnelQuery>]>([
  ['person', {}],
  ['session', { count_by: 'session' }],
  ['person in strict order', { order: 'strict' }],
  ['person in any order', { order: 'any' }],
])('of an event that is stored at two times a %s has the first', async ([, query]) => {
  const world = await unmerged();
  const bought = { event_id: 'bought' };
  await world.store([
    [storedRow('a', 'page_view', 0), storedRow('a', 'purchase', 10, bought)],
    [storedRow('a', 'purchase', 5, bought), storedRow('a', 'purchase', 7), storedRow('a', 'refund', 11)],
  ]);
  expect(await reached(world, query)).toEqual([1, 0, 1, 5 * MINUTE_MS]);
  const purchase = { events: ['purchase'] };
  const refunded = { steps: [purchase, { events: ['refund'] }], window_ms: 2 * MINUTE_MS };
  expect(await reached(world, { ...query, ...refunded })).toEqual([1, 0, 0, undefined]);
  // Steps that are the same need an event each.
  expect(await reached(world, { ...query, steps: [purchase, purchase, purchase] })).toEqual([
    ...[1, 0],
    ...[1, 2 * MINUTE_MS],
    ...[0, undefined],
  ]);
});

test('in any order one event fills every step that it matches, but only one of those that are the same', async () => {
  const world = await create();
  const bought = { properties: '{"plan":"paid"}' };
  await world.store([[storedRow('a', 'purchase', 0, bought), storedRow('b', 'purchase', 0, bought)]]);
  await world.store([[storedRow('b', 'purchase', 3)]]);
  const purchase = { events: ['purchase'] };
  const paid = { ...purchase, filters: [{ field: { property: ['plan'] }, is: 'equal' as const, to: ['paid'] }] };
  expect(await reached(world, { order: 'any', steps: [purchase, paid] })).toEqual([2, 0, 2, 0]);
  expect(await reached(world, { order: 'any', steps: [purchase, purchase] })).toEqual([2, 0, 1, 3 * MINUTE_MS]);
});

test('an optional step may be left out, and the step after it is compared with the one before', async () => {
  const world = await create();
  await world.store([
    [storedRow('a', 'page_view', 0), storedRow('a', 'add_to_cart', 4), storedRow('a', 'purchase', 5)],
    [storedRow('b', 'page_view', 0), storedRow('b', 'purchase', 2), storedRow('c', 'page_view', 0)],
  ]);
  const [view, buy] = purchaseFunnel.steps;
  const cart = { events: ['add_to_cart'], optional: true };
  const { steps } = await world.ask<FunnelAnswer>('funnel', { ...purchaseFunnel, steps: [view, cart, buy] });
  expect(steps.map((step) => [step.reached, step.of_previous, step.between_ms?.median])).toEqual([
    [3, 1, undefined],
    [1, 1 / 3, 4 * MINUTE_MS],
    [2, 2 / 3, 2 * MINUTE_MS],
  ]);
});

test('an exclusion ends the way, or drops the actor who has it between the steps', async () => {
  const world = await create();
  await world.store([
    [storedRow('a', 'page_view', 0), storedRow('a', 'refund', 1)],
    [storedRow('a', 'page_view', 2), storedRow('a', 'purchase', 3)],
    [storedRow('b', 'page_view', 0), storedRow('b', 'purchase', 1), storedRow('b', 'refund', 2)],
  ]);
  const refunds = (ends: 'way' | 'actor') => ({ exclusions: [{ events: ['refund'], ends }] });
  expect(await reached(world, refunds('way'))).toEqual([2, 0, 2, MINUTE_MS]);
  expect(await reached(world, refunds('actor'))).toEqual([1, 0, 1, MINUTE_MS]);
});

test('a breakdown at a step has the value of the event of that step on the way that counts', async () => {
  const world = await create();
  const plan = (name: string) => ({ properties: JSON.stringify({ plan: name }) });
  await world.store([
    [storedRow('a', 'page_view', 0), storedRow('a', 'add_to_cart', 1, plan('of a way too long'))],
    [storedRow('a', 'page_view', 100), storedRow('a', 'add_to_cart', 101, plan('first'))],
    [storedRow('a', 'add_to_cart', 102, plan('latest')), storedRow('a', 'purchase', 103)],
    [storedRow('b', 'page_view', 0, plan('no cart'))],
  ]);
  const [view, buy] = purchaseFunnel.steps;
  const { breakdown } = await world.ask<FunnelAnswer>('funnel', {
    ...purchaseFunnel,
    steps: [view, { events: ['add_to_cart'] }, buy],
    window_ms: 10 * MINUTE_MS,
    breakdown: { field: { property: ['plan'] }, at: 'step', step: 2 },
  });
  expect(breakdown.map(({ value, steps }) => [value, steps.map((step) => step.reached)])).toEqual([
    ['', [1, 0, 0]],
    ['latest', [1, 1, 1]],
  ]);
});

test('texts of a breakdown stay with their events, in whatever order these came', async () => {
  const world = await unmerged();
  const from = (campaign: string) => ({ properties: JSON.stringify({ campaign }) });
  await world.store([
    [storedRow('a', 'purchase', 9, from('third')), storedRow('b', 'purchase', 3, from('second'))],
    [
      storedRow('a', 'page_view', 1, { event_id: 'seen', ...from('first') }),
      storedRow('b', 'page_view', 2, from('one')),
    ],
    [storedRow('a', 'page_view', 7, { event_id: 'seen', ...from('again') })],
  ]);
  const field = { property: ['campaign'] };
  for (const [at, values] of [
    ['first_step', ['first', 'one']],
    ['first_touch', ['first', 'one']],
    ['last_touch', ['second', 'third']],
  ] as const) {
    const { breakdown } = await world.ask<FunnelAnswer>('funnel', { ...purchaseFunnel, breakdown: { field, at } });
    expect(breakdown.map(({ value }) => value).toSorted(), at).toEqual(values);
  }
});

test('a filter by person takes the person as known now', async () => {
  const world = await create();
  await world.store([[storedRow('a', 'page_view', 0), storedRow('b', 'purchase', 1), storedRow('c', 'page_view', 0)]]);
  const [a, b] = [basePersonId('shop', 'a'), basePersonId('shop', 'b')];
  await world.link([{ site_id: 'shop', kind: 'person', person_id: b, target: a, first_seen: START, version: 1 }]);
  const filters: FunnelQuery['filters'] = [{ field: { column: 'person_id' }, is: 'equal', to: [a] }];
  expect(await reached(world, { filters })).toEqual([1, 0, 1, MINUTE_MS]);
});

test('a person of more events than a funnel looks at is refused', async () => {
  const world = await create();
  const insert = (count: number) =>
    world.database.warehouse.command({
      query: `INSERT INTO event_rows (site_id, event_id, distinct_id, arrived_person_id, event, timestamp, received_at)
              SELECT 'shop', toString(number), 'a', 'p_a', 'page_view', fromUnixTimestamp64Milli(${START} + number, 'UTC'), now64(3)
              FROM numbers(${count})`,
    });
  await insert(ACTOR_EVENTS_MAX);
  expect(await reached(world)).toEqual([1, 0, 0, undefined]);
  await world.store([[storedRow('a', 'page_view', -1)].map((row) => ({ ...row, arrived_person_id: 'p_a' }))]);
  const { status, body } = await world.control.call('POST', '/v1/query/shop/funnel', { body: purchaseFunnel });
  expect([status, body.error.code]).toEqual([422, 'query_too_heavy']);
});
