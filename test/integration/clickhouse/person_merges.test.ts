import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { checkDuplicates } from '#infra/clickhouse/inserts/duplicate_check.ts';
import {
  correctSplitRows,
  dropAppliedMerges,
  MERGE_KEPT_DAYS,
  mergeNightly,
  mergePersons,
  storeSplit,
} from '#infra/clickhouse/merge_persons.ts';
import {
  BASE_DICTIONARY,
  createPersonReloader,
  dictionaryFigures,
  RECENT_DICTIONARY,
  reloadDictionary,
  reloadPersons,
} from '#infra/clickhouse/person_dictionaries.ts';
import { dropAgedOfSites, dropAgedWeekly, keepDays } from '#infra/clickhouse/retention.ts';
import { randomFor } from '#services/local/demo/world/random.ts';
import { quiet } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { arrived, createPeople, DAY_MS, linkAt, linkOf, person, personsNow } from './person_merges_world.ts';
import { type Database, rowsOf, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const STEPS = 24;
const MANY_MS = 240_000;

const link = ({ warehouse }: Database, token: string, links: readonly object[]): Promise<void> =>
  insertBlock(warehouse, 'person_links', token, links);

test('whatever merges, in whatever order, is known at once', { timeout: MANY_MS }, async () => {
  const database = await create.migrated();
  const { warehouse } = database;
  const random = randomFor('merges of persons');
  const people = createPeople(random, Date.now() - 70 * DAY_MS);
  for (let step = 0; step < STEPS; step++) {
    const nowMs = people.pass();
    await insertBlock(warehouse, 'event_rows', `e${step}`, [people.event(`${step}-a`), people.event(`${step}-b`)]);
    const links = people.merge();
    if (links.length > 0) {
      const tokens = random.chance(0.2) ? [`l${step}`, `l${step} again`] : [`l${step}`];
      for (const token of tokens) await linkAt(database, links, nowMs, token);
      await reloadDictionary(warehouse, RECENT_DICTIONARY);
    }
    if (random.chance(0.2)) await reloadDictionary(warehouse, BASE_DICTIONARY);
    if (random.chance(0.1)) await mergePersons(warehouse);
    if (random.chance(0.2)) await dropAppliedMerges(warehouse);
    expect(await personsNow(database), `step ${step}`).toEqual(people.expected());
  }
  const expected = people.expected();
  const [kept] = await rowsOf<{ first: number }>(
    database,
    'SELECT toUnixTimestamp64Milli(min(changed_at)) AS first FROM merged_persons',
  );
  await mergePersons(warehouse);
  await until('all rows to be written', async () => (await mergePersons(warehouse)).rows === 0);
  await dropAppliedMerges(warehouse);
  await reloadPersons(warehouse);
  expect(await personsNow(database)).toEqual(expected);
  expect(kept?.first).toBeGreaterThan(0);
});

test('links show by themselves, and later ones of the same person', async () => {
  const database = await create.migrated();
  await insertBlock(database.warehouse, 'event_rows', 'e', [arrived('a', person(2)), arrived('b', person(9))]);
  const delays: number[] = [];
  const reloader = createPersonReloader({
    warehouse: database.warehouse,
    cluster: null,
    report: { reloaded: () => undefined, holds: () => undefined, delayed: (seconds) => delays.push(seconds) },
    logger: quiet,
    nowMs: Date.now,
  });
  onTestFinished(() => reloader.stop());
  for (const [version, to] of [1, 0].entries()) {
    await link(database, `l${version}`, [linkOf(person(2), person(to), version + 1)]);
    reloader.changed();
    const wanted = { a: person(to), b: person(9) };
    await until(`the person to be ${to}`, async () => equal(await personsNow(database), wanted));
    // It is told after it is there to be read; what came meanwhile would be told together with it.
    await until('it to be told', () => delays.length > version);
  }
  expect(delays).toEqual([expect.any(Number), expect.any(Number)]);
});

const equal = (one: object, other: object): boolean => JSON.stringify(one) === JSON.stringify(other);

test('a link that was under way while all were loaded is not missed, though newer ones were there', async () => {
  const database = await create.migrated();
  await insertBlock(database.warehouse, 'event_rows', 'e', [arrived('a', person(1)), arrived('b', person(2))]);
  await link(database, 'l1', [linkOf(person(2), person(9), 2)]);
  await reloadPersons(database.warehouse);
  await linkAt(database, [linkOf(person(1), person(9), 1)], Date.now() - 4 * 60_000, 'l2');
  await reloadDictionary(database.warehouse, RECENT_DICTIONARY);
  expect(await personsNow(database)).toEqual({ a: person(9), b: person(9) });
});

test('an older link that comes again changes nothing, whether the newer is in the base or recent', async () => {
  const database = await create.migrated();
  const { warehouse } = database;
  await insertBlock(warehouse, 'event_rows', 'e', [arrived('a', person(1)), arrived('b', person(2))]);
  const hourAgoMs = Date.now() - 3_600_000;
  await linkAt(database, [linkOf(person(1), person(8), 5)], hourAgoMs, 'l1');
  await linkAt(database, [linkOf(person(3), person(8), 6)], hourAgoMs + 1_200_000, 'l2');
  await reloadDictionary(warehouse, BASE_DICTIONARY);
  await link(database, 'l3', [linkOf(person(2), person(9), 7)]);
  await link(database, 'l4', [linkOf(person(1), person(7), 4), linkOf(person(2), person(7), 3)]);
  await reloadDictionary(warehouse, RECENT_DICTIONARY);
  expect(await personsNow(database)).toEqual({ a: person(8), b: person(9) });
  const figures = await dictionaryFigures(warehouse);
  // The base holds its mark beside the two. Of what came since, one is older than what the base has.
  expect(Object.fromEntries(figures.map(({ name, rows }) => [name, rows]))).toEqual({
    [BASE_DICTIONARY]: 3,
    [RECENT_DICTIONARY]: 1,
  });
});

/** The number that the file system has for the data of each month: a part that is not rewritten keeps its file. */
async function filesOf(database: Database): Promise<Record<string, number>> {
  const parts = await rowsOf<{ partition: string; path: string }>(
    database,
    "SELECT partition, path FROM system.parts WHERE database = currentDatabase() AND table = 'event_rows' AND active ORDER BY partition",
  );
  return Object.fromEntries(parts.map(({ partition, path }) => [partition, statSync(join(path, 'data.bin')).ino]));
}

test('a night rewrites the months with persons that merged since, and no others', async () => {
  const database = await create.migrated();
  const { warehouse } = database;
  const months = [Date.UTC(2026, 5, 3), Date.UTC(2026, 6, 3), Date.UTC(2026, 7, 3)];
  const rows = months.map((timestamp, at) => arrived(`e${at}`, person(at), timestamp));
  await insertBlock(warehouse, 'event_rows', 'e', rows);
  await link(database, 'l', [linkOf(person(1), person(7), 1), linkOf(person(7), person(7), 1)]);
  await reloadPersons(warehouse);
  const before = await personsNow(database);
  expect(before).toEqual({ e0: person(0), e1: person(7), e2: person(2) });
  const files = await filesOf(database);
  expect(await mergeNightly(warehouse)).toEqual({ rows: 1, months: 1, daysForgotten: 0, splitRows: 0 });
  await until('the rows to be changed', async () => (await mergePersons(warehouse)).rows === 0);
  expect(await personsNow(database)).toEqual(before);
  expect(
    await rowsOf(database, 'SELECT event_id, arrived_person_id AS person FROM event_rows ORDER BY event_id'),
  ).toEqual(Object.entries(before).map(([event_id, each]) => ({ event_id, person: each })));
  const filesAfter = await filesOf(database);
  expect(Object.keys(files).map((month) => [month, filesAfter[month] === files[month]])).toEqual([
    ['202606', true],
    ['202607', false],
    ['202608', true],
  ]);
});

test('merges are forgotten when they are old and every row knows them, the oldest first', async () => {
  const database = await create.migrated();
  const { warehouse } = database;
  const old = (days: number): number => Date.now() - (MERGE_KEPT_DAYS + days) * DAY_MS;
  await insertBlock(warehouse, 'event_rows', 'e', [arrived('a', person(2)), arrived('b', person(4))]);
  for (const [at, days] of [9, 7, 5, -3].entries()) {
    await linkAt(database, [linkOf(person(at + 1), person(9), at + 1)], old(days), `l${at}`);
  }
  await reloadPersons(warehouse);
  const day = (days: number): string => new Date(old(days)).toISOString().slice(0, 10);
  // The event of person 2 does not say 9 yet.
  expect(await dropAppliedMerges(warehouse)).toEqual([day(9)]);
  await mergePersons(warehouse);
  await until('the rows to be changed', async () => (await mergePersons(warehouse)).rows === 0);
  expect(await dropAppliedMerges(warehouse)).toEqual([day(7), day(5)]);
  await reloadPersons(warehouse);
  expect(await personsNow(database)).toEqual({ a: person(9), b: person(9) });
  expect(await rowsOf(database, 'SELECT count() AS kept FROM merged_persons')).toEqual([{ kept: 1 }]);
  expect(await rowsOf(database, 'SELECT count() AS links FROM person_links')).toEqual([{ links: 4 }]);
});

test('rows of people who were split get their person whenever they come, but those of whom it is known since', async () => {
  const database = await create.migrated();
  const { warehouse } = database;
  const splitAtMs = Date.now() - 60_000;
  const row = (event_id: string, distinct_id: string, arrivedAs: string, received_at = splitAtMs - 1_000) => ({
    ...arrived(event_id, person(arrivedAs)),
    ...{ distinct_id, received_at },
  });
  const split = {
    ...{ site_id: 'shop', moved: [person('b')], stayed: [person('a'), person('c')], version: 5, split_at: splitAtMs },
    ...{ person_id: person('b'), former_person_id: person('a') },
  };
  const stored = (): Promise<object[]> =>
    rowsOf(database, 'SELECT event_id, arrived_person_id AS person FROM event_rows ORDER BY event_id');
  await insertBlock(warehouse, 'event_rows', 'before', [
    ...[row('e1', 'b', 'a'), row('e2', 'a', 'a'), row('e3', 'c', 'b'), row('e4', 'x', 'a')],
    row('e5', 'b', 'a', splitAtMs + 1_000),
  ]);
  // Of the day before it is only known what they were.
  await link(database, 'old', [linkOf(person('b'), person('a'), 4)]);
  await storeSplit(warehouse, split);
  expect(await correctSplitRows(warehouse)).toBe(2);
  await until('the rows to be changed', async () => (await correctSplitRows(warehouse)) === 0);
  const persons = { e1: 'b', e2: 'a', e3: 'a', e4: 'a', e5: 'a' };
  const expected = Object.entries(persons).map(([event_id, name]) => ({ event_id, person: person(name) }));
  expect(await stored()).toEqual(expected);
  await insertBlock(warehouse, 'event_rows', 'late', [row('e6', 'b', 'a')]);
  expect(await mergeNightly(warehouse)).toMatchObject({ splitRows: 1 });
  await until('the late row to be changed', async () => (await correctSplitRows(warehouse)) === 0);
  expect(await stored()).toEqual([...expected, { event_id: 'e6', person: person('b') }]);
  await link(database, 'again', [linkOf(person('b'), person('a'), 6)]);
  await insertBlock(warehouse, 'event_rows', 'later', [row('e7', 'b', 'a')]);
  expect(await correctSplitRows(warehouse)).toBe(0);
});

test('several processes do what a night asks for at once: rows, persons and repeats are as if one had', async () => {
  const database = await create.migrated();
  const { warehouse } = database;
  const oldMs = Date.now() - 20 * DAY_MS;
  const twice = arrived('a', person(2));
  const old = { ...arrived('old', person(4), oldMs), received_at: oldMs };
  // Of the past of the site, brought in today.
  const past = { ...old, event_id: 'past', received_at: Date.now(), historical: true };
  await insertBlock(warehouse, 'event_rows', 'e', [twice, arrived('b', person(4)), old, past]);
  await insertBlock(warehouse, 'event_rows', 'again', [twice]);
  await link(database, 'l', [linkOf(person(2), person(7), 1)]);
  await reloadPersons(warehouse);
  const night = async (): Promise<void> => {
    await mergeNightly(warehouse);
    await dropAgedOfSites(warehouse, 'event_rows', [{ siteId: 'shop', days: 5 }]);
    await checkDuplicates(warehouse);
    await keepDays(warehouse, 'event_rows', 399);
    await dropAgedWeekly(warehouse, 'event_rows');
  };
  await Promise.all([night(), night(), night()]);
  await until('the rows to be changed', async () => (await mergePersons(warehouse)).rows === 0);
  const ids = () => rowsOf<{ id: string }>(database, 'SELECT event_id AS id FROM event_rows ORDER BY id');
  await until('the old rows to go', ids, (rows) => !rows.some(({ id }) => id === 'old' || id === 'past'));
  expect(await ids()).toEqual([{ id: 'a' }, { id: 'a' }, { id: 'b' }]);
  expect(await personsNow(database)).toEqual({ a: person(7), b: person(4) });
  expect(await rowsOf(database, 'SELECT count() AS found FROM repeated_events FINAL')).toEqual([{ found: 1 }]);
  await keepDays(warehouse, 'event_rows', 400);
});
