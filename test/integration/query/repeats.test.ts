import { expect, test } from 'vitest';
import { checkDuplicates, watchDuplicates } from '#infra/clickhouse/inserts/duplicate_check.ts';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { EventRow } from '#pipelines/warehouse/block.ts';
import { until } from '#test/harness/until.ts';
import { storedRow } from './few_rows.ts';
import { type QueryWorld, rowsOf, useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const question = { from: Date.UTC(2026, 8, 1), to: Date.UTC(2026, 11, 1), interval: 'month', fresh: true };
const DAY = 24 * 60;

/** One whose parts stay as they were inserted. */
async function unmerged(): Promise<QueryWorld> {
  const world = await create();
  await world.database.warehouse.command({ query: 'SYSTEM STOP MERGES event_rows' });
  return world;
}

const eventsOf = async (world: QueryWorld): Promise<number | undefined> =>
  (await world.ask<TrendsAnswer>('trends', { ...question, series: [{}] })).series[0]?.events;

const storedOf = async ({ database }: QueryWorld): Promise<number> =>
  Number((await rowsOf<{ stored: string }>(database, 'SELECT count() AS stored FROM event_rows'))[0]?.stored);

const rows = (from: number, count: number, apart = DAY / 4): EventRow[] =>
  Array.from({ length: count }, (_, index) => storedRow(`v${index % 7}`, 'visit', (from + index) * apart));

test('an event whose block is inserted twice counts once: before anybody looked, after, and when another copy comes', async () => {
  const world = await unmerged();
  const [first, second] = [rows(0, 40), rows(40, 30)];
  await world.store([first, second, second.slice(10)]);
  expect(await storedOf(world)).toBe(90);
  expect(await eventsOf(world)).toBe(70);
  expect(await checkDuplicates(world.database.warehouse)).toEqual({ rows: 90, repeated: 20 });
  expect(await eventsOf(world)).toBe(70);
  expect(await checkDuplicates(world.database.warehouse)).toEqual({ rows: 0, repeated: 0 });

  await world.store([first.slice(0, 5), rows(70, 10)]);
  expect(await eventsOf(world)).toBe(80);
  const { repeated } = await checkDuplicates(world.database.warehouse);
  expect(repeated).toBe(5);
  expect(await eventsOf(world)).toBe(80);
});

const COHORT = 'sites/shop/cohorts';
/** How many events of a name, from a day of October on, are of persons in a cohort, and how many are not. */
async function eventsBy(
  world: QueryWorld,
  cohort: string,
  event: string,
  day: number,
): Promise<(number | undefined)[]> {
  const ask = async (is: string): Promise<number | undefined> => {
    const series = [{ events: [event], filters: [{ field: { cohort }, is }] }];
    const answer = await world.ask<TrendsAnswer>('trends', { ...question, from: Date.UTC(2026, 9, day), series });
    return answer.series[0]?.events;
  };
  return [await ask('in'), await ask('not_in')];
}

test('of a question and a cohort that read different events, what is inserted twice counts once for both', async () => {
  const world = await unmerged();
  const early = Array.from({ length: 6 }, (_, index) => storedRow(`v${index % 3}`, 'buy', index * DAY));
  const late = Array.from({ length: 6 }, (_, index) => storedRow(`v${index % 3}`, 'visit', (30 + index) * DAY));
  await world.store([early, early.slice(0, 4), late, late.slice(2)]);
  const did = { did: { events: ['buy'] }, is: 'at_least', times: 3, since: '2026-10-01', until: '2026-10-14' };
  const cohort = { id: 'thrice', name: 'Thrice', conditions: [did] };
  expect((await world.control.call('POST', COHORT, { body: cohort })).status).toBe(201);
  expect(await eventsBy(world, 'thrice', 'visit', 15)).toEqual([0, 6]);
  await checkDuplicates(world.database.warehouse);
  expect(await eventsBy(world, 'thrice', 'visit', 15)).toEqual([0, 6]);
  await world.store([Array.from({ length: 3 }, (_, index) => storedRow(`v${index}`, 'buy', (7 + index) * DAY))]);
  expect(await eventsBy(world, 'thrice', 'visit', 15)).toEqual([6, 0]);
});

test('an id that comes again on another day is another event, in one range and in two, whenever it is looked at', async () => {
  const world = await unmerged();
  const orders = (name: string, day: number): EventRow[] =>
    ['a', 'b', 'c'].map((id) => storedRow(`v-${id}`, name, day * DAY, { event_id: `order-${id}` }));
  const bought = orders('purchase', 0);
  await world.store([bought, orders('refund', 20)]);
  const cohort = { id: 'bought', name: 'Bought', conditions: [{ did: { events: ['purchase'] }, last_days: 800 }] };
  expect((await world.control.call('POST', COHORT, { body: cohort })).status).toBe(201);
  const hold = async (): Promise<void> => {
    expect(await eventsBy(world, 'bought', 'refund', 20)).toEqual([3, 0]);
    expect(await eventsOf(world)).toBe(6);
    const { events } = await world.ask<Listing>('timeline', {
      from: question.from,
      to: question.to,
      fresh: true,
      distinct_id: 'v-a',
    });
    expect(events.map(({ event }) => event)).toEqual(['refund', 'purchase']);
    const { members } = await world.ask<{ members: { events: number }[] }>('members', { cohort: 'bought' });
    expect(members.map((member) => member.events)).toEqual([2, 2, 2]);
  };
  await hold();
  await checkDuplicates(world.database.warehouse);
  await hold();
  await world.store([bought]);
  await hold();
  await checkDuplicates(world.database.warehouse);
  await hold();
});

test('what else a question reads changes nothing of what it counts', async () => {
  const world = await unmerged();
  const order = (name: string, minute: number) => storedRow('v1', name, minute, { event_id: 'order' });
  // Minute 0 is noon: a purchase and its refund under one id, and two rows of one event on both sides of midnight in Berlin.
  const visit = (minute: number) => storedRow('v1', 'visit', minute, { event_id: 'twice' });
  await world.store([
    [order('purchase', 0), storedRow('v1', 'refund', 100), visit(9 * 60)],
    [order('refund', 180), visit(11 * 60)],
  ]);
  const did = { did: { events: ['purchase', 'visit'] }, last_days: 800 };
  expect(
    (await world.control.call('POST', COHORT, { body: { id: 'all', name: 'All', conditions: [did] } })).status,
  ).toBe(201);
  const filters = [{ field: { cohort: 'all' }, is: 'in' }];
  const day = Date.UTC(2026, 9, 5, 22);
  const late = { interval: 'day', time_zone: 'Europe/Berlin', from: day, to: day + DAY * 60_000 };
  const ask = async (event: string, more: object): Promise<(number | undefined)[]> => {
    const series = [{ events: [event] }, { events: [event], filters }];
    const answer = await world.ask<TrendsAnswer>('trends', { ...question, series, ...more });
    return answer.series.map(({ events }) => events);
  };
  const hold = async (): Promise<void> => {
    expect(await ask('refund', {})).toEqual([2, 2]);
    expect(await ask('refund', { filters })).toEqual([2, 2]);
    for (const more of [{}, { compare: 'previous' }, { filters }]) {
      expect(await ask('visit', { ...late, ...more })).toEqual([0, 0]);
    }
    expect(await ask('visit', {})).toEqual([1, 1]);
  };
  await hold();
  await checkDuplicates(world.database.warehouse);
  await hold();
});

test('what was looked at stays so through merges, and what comes between is looked at', async () => {
  const world = await create();
  const first = rows(0, 30);
  await world.store([first]);
  await checkDuplicates(world.database.warehouse);
  await world.store([rows(30, 30)]);
  await world.database.warehouse.command({ query: 'OPTIMIZE TABLE event_rows FINAL' });
  await world.database.warehouse.command({ query: 'SYSTEM STOP MERGES event_rows' });
  // The merged part has rows that nobody looked at.
  await world.store([first.slice(0, 3)]);
  expect(await eventsOf(world)).toBe(60);
  expect((await checkDuplicates(world.database.warehouse)).repeated).toBe(3);
  await world.database.warehouse.command({ query: 'SYSTEM START MERGES event_rows' });
  await world.database.warehouse.command({
    query:
      "ALTER TABLE event_rows UPDATE arrived_person_id = 'p_other' WHERE distinct_id = 'v1' SETTINGS mutations_sync = 2",
  });
  expect((await checkDuplicates(world.database.warehouse)).rows).toBe(0);
  expect(await eventsOf(world)).toBe(60);
});

test('copies of another site, and of another day, are none', async () => {
  const world = await unmerged();
  const [row] = rows(0, 1);
  if (row === undefined) throw new Error('no row');
  const sameId = storedRow('v0', 'visit', 3 * DAY, { event_id: row.event_id });
  await world.store([[row], [{ ...row, site_id: 'other' }]]);
  expect((await checkDuplicates(world.database.warehouse)).repeated).toBe(0);
  await world.store([[sameId]]);
  expect((await checkDuplicates(world.database.warehouse)).repeated).toBe(0);
});

test('a table that was restored is looked at whole', async () => {
  const world = await unmerged();
  const { warehouse } = world.database;
  const first = rows(0, 20);
  await world.store([first, first]);
  await warehouse.command({
    query: `INSERT INTO repeat_checks SELECT concat('0/', partition_id), max(max_block_number) + 1000, now64(3) FROM system.parts
            WHERE database = currentDatabase() AND table = 'event_rows' AND active GROUP BY partition_id`,
  });
  expect(await eventsOf(world)).toBe(40);
  expect(await checkDuplicates(warehouse)).toEqual({ rows: 40, repeated: 20 });
  expect(await eventsOf(world)).toBe(20);
});

test('a process of the warehouse looks by itself, and says how many it found', async () => {
  const world = await unmerged();
  const first = rows(0, 8);
  await world.store([first, first]);
  const found: number[] = [];
  const warned: object[] = [];
  const watch = watchDuplicates({
    warehouse: world.database.warehouse,
    cluster: null,
    pauseMs: 50,
    report: ({ repeated }) => found.push(repeated),
    logger: { warn: (fields: object) => void warned.push(fields) } as never,
    nowMs: () => performance.now(),
  });
  await until('they were found', () => found.includes(8));
  watch.stop();
  expect(warned).toEqual([{ events: 8 }]);
});
