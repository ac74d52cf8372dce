import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { createPersonEraser } from '#infra/clickhouse/erasure/erase_rows.ts';
import { createUnseenPersons, type UnseenPersons } from '#infra/clickhouse/erasure/unseen_persons.ts';
import { type PersonGroup, wholeGroups } from '#pipelines/erasure/retention.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { until } from '#test/harness/until.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { type Database, rowsOf, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const DAY_MS = 86_400_000;
const NOW_MS = Math.floor(Date.now() / 1000) * 1000;
const ago = (days: number): number => NOW_MS - days * DAY_MS;
const P = (letter: string): string => `p_${letter.repeat(32)}`;
const { site_id: SITE } = sampleEvent();

let blocks = 0;
async function arrive(database: Database, events: readonly [person: string, received_at: number, site?: string][]) {
  const rows = events.map(([person_id, received_at, site_id = SITE], at) =>
    eventRow({
      coordinate: { partition: 0, offset: blocks, index: at },
      person: { person_id, identifiers: null },
      event: sampleEvent({ site_id, event_id: `e-${blocks}-${at}`, timestamp: ago(900), received_at }),
    }),
  );
  await insertBlock(database.warehouse, 'event_rows', `rows-${blocks++}`, rows);
}

async function link(
  database: Database,
  links: readonly [person: string, target: string, site?: string][],
  version = 1,
) {
  const rows = links.map(([person_id, target, site_id = SITE]) => ({
    ...{ site_id, person_id, target, first_seen: ago(900), version },
  }));
  await insertBlock(database.warehouse, 'person_links', `links-${blocks++}`, rows);
}

const leaders = (groups: readonly PersonGroup[]): string[] => groups.map(({ leader }) => leader.charAt(2));

async function unseenSince(unseen: UnseenPersons, days: number, splitDays = 0): Promise<PersonGroup[]> {
  const before = { beforeMs: ago(days), splitMs: ago(splitDays) };
  return wholeGroups(await unseen.unseen(SITE, before, '', 1_000), 1_000);
}

test('who is unseen follows from arrivals of all who are one, and holds when their rows are gone', async () => {
  const database = await create.migrated();
  const unseen = createUnseenPersons(database.warehouse, database.cluster);
  // b is part of a and active; d of c and not; e has no rows; f is seen by page views alone; y and z are of another site.
  await link(database, [
    ...([P('a'), P('b')] as const).map((person): [string, string] => [person, P('a')]),
    ...([P('c'), P('d')] as const).map((person): [string, string] => [person, P('c')]),
    ...([P('e'), P('f')] as const).map((person): [string, string] => [person, person]),
    ...([P('c'), P('z')] as const).map((person): [string, string, string] => [person, person, 'elsewhere']),
  ]);
  await arrive(database, [
    ...(
      [
        [P('a'), ago(300)],
        [P('b'), ago(3)],
        [P('c'), ago(200)],
        [P('d'), ago(100)],
        [P('f'), ago(1)],
      ] as const
    ).map(([person, at]): [string, number] => [person, at]),
    [P('c'), ago(1), 'elsewhere'],
    [P('v'), ago(500)],
  ]);
  expect(await unseen.marks()).toEqual(new Map());
  await unseen.note(SITE, 0);
  expect(await unseen.marks()).toEqual(new Map([[SITE, 1_000]]));
  // Of whom nothing is noted nobody knows.
  expect(leaders(await unseenSince(unseen, 30))).toEqual(['c']);
  await unseen.noteOthers(SITE, NOW_MS);
  const found = await unseenSince(unseen, 30);
  expect(found).toEqual([{ leader: P('c'), persons: [P('c'), P('d')], version: 1 }]);
  expect(await unseenSince(unseen, 101)).toEqual([]);
  await unseen.done(SITE, NOW_MS);
  expect(await unseen.marks()).toEqual(new Map([[SITE, NOW_MS]]));

  await database.warehouse.command({ query: 'TRUNCATE TABLE event_rows' });
  await arrive(database, [[P('d'), ago(20)]]);
  await unseen.note(SITE, ago(60));
  await unseen.noteOthers(SITE, NOW_MS + DAY_MS);
  expect(leaders(await unseenSince(unseen, 30))).toEqual([]);
  expect(leaders(await unseenSince(unseen, 10))).toEqual(['c']);
  // e counts from when it was noted that nothing is known: once.
  expect(leaders(await unseenSince(unseen, 0))).toEqual(['a', 'c', 'f']);
  expect(leaders(await unseenSince(unseen, -0.5))).toEqual(['a', 'c', 'e', 'f']);
  await unseen.forgetSites(['another', SITE]);
  expect(await unseen.marks()).toEqual(new Map());
});

test('groups come whole in slices, in the order of their leaders', async () => {
  const database = await create.migrated();
  const unseen = createUnseenPersons(database.warehouse, database.cluster);
  const hex = (at: number): string => `p_${at.toString(16).padStart(32, '0')}`;
  const groups = Array.from({ length: 40 }, (_, at) => [hex(at * 10), hex(at * 10 + 1), hex(at * 10 + 2)] as const);
  await link(
    database,
    groups.flatMap(([one, ...others]) => [one, ...others].map((person): [string, string] => [person, one])),
  );
  await unseen.noteOthers(SITE, ago(100));
  const seen: string[][] = [];
  for (let after = ''; ; ) {
    const some = wholeGroups(await unseen.unseen(SITE, { beforeMs: ago(99), splitMs: NOW_MS }, after, 10), 10);
    const last = some.at(-1);
    if (last === undefined) break;
    expect(some.length).toBeLessThanOrEqual(3);
    seen.push(...some.map(({ persons }) => persons));
    after = last.leader;
  }
  expect(seen).toEqual(groups.map((persons) => [...persons]));
});

test('links, merges, splits and notes of the forgotten go, events stay, and so does what came since of who returned', async () => {
  const database = await create.migrated();
  const { warehouse, cluster } = database;
  const unseen = createUnseenPersons(warehouse, cluster);
  await link(database, [
    [P('a'), P('a')],
    [P('b'), P('a')],
    [P('c'), P('c')],
    [P('d'), P('d')],
    [P('a'), P('a'), 'elsewhere'],
  ]);
  const split = { site_id: SITE, moved: [P('a')], stayed: [P('b')], person_id: P('a'), former_person_id: P('b') };
  await insertBlock(warehouse, 'person_splits', 'splits', [
    { ...split, version: 1, split_at: ago(60) },
    { ...split, moved: [P('c')], stayed: [P('d')], version: 1, split_at: ago(60) },
  ]);
  await arrive(database, [
    [P('a'), ago(90)],
    [P('c'), ago(80)],
    [P('d'), ago(1)],
  ]);
  await unseen.note(SITE, 0);
  const found = await unseenSince(unseen, 60);
  expect(leaders(found)).toEqual(['a', 'c']);
  // c returns before their links are deleted, and is joined to d.
  await link(
    database,
    [
      [P('c'), P('d')],
      [P('d'), P('d')],
    ],
    2,
  );
  await arrive(database, [[P('c'), NOW_MS]]);
  await unseen.note(SITE, ago(1));
  const times = { seenBeforeMs: ago(60), nowMs: NOW_MS };
  for (const what of ['besides', 'links', 'seen'] as const) {
    for (let attempt = 0; attempt < 2; attempt++) {
      // Whoever was killed here begins anew.
      const hasLeft = await unseen.begin(what, SITE, found, times);
      await until('the deletion', unseen.underWay, (running) => running.size === 0);
      expect(await hasLeft()).toBe(false);
    }
  }
  expect([await unseen.isUnended(SITE), await unseen.isUnended('elsewhere')]).toEqual([true, false]);
  await unseen.end();
  expect(await unseen.isUnended(SITE)).toBe(false);
  const all = (table: string, columns: string) =>
    rowsOf(database, `SELECT ${columns} FROM ${table} FINAL ORDER BY ALL`);
  expect(await all('person_links', 'site_id, person_id, target')).toEqual(
    [
      { site_id: 'elsewhere', person_id: P('a'), target: P('a') },
      { site_id: SITE, person_id: P('c'), target: P('d') },
      { site_id: SITE, person_id: P('d'), target: P('d') },
    ].toSorted((one, other) => (one.site_id < other.site_id ? -1 : 1)),
  );
  expect(await rowsOf(database, 'SELECT moved FROM person_splits')).toEqual([]);
  expect(
    await rowsOf(database, 'SELECT DISTINCT lower(hex(person)) AS person FROM merged_persons ORDER BY ALL'),
  ).toEqual(['a', 'd'].map((letter) => ({ person: letter.repeat(32) })));
  const digests = await rowsOf<{ known: number }>(
    database,
    `SELECT person_hash = cityHash64('${P('c')}') AS known FROM person_seen FINAL WHERE person_hash != 0 ORDER BY ALL`,
  );
  expect(digests.map(({ known }) => Number(known))).toEqual([0, 1]);
  const rows = await rowsOf<{ arrived_person_id: string; person_id: string }>(
    database,
    'SELECT arrived_person_id, person_id FROM event_rows ORDER BY received_at',
  );
  expect(rows.map(({ arrived_person_id, person_id }) => [arrived_person_id.charAt(2), person_id.charAt(2)])).toEqual([
    ['a', 'a'],
    ['c', 'd'],
    ['d', 'd'],
    ['c', 'd'],
  ]);
  expect(await rowsOf(database, 'SELECT site_id FROM erasing')).toEqual([]);
});

test('an erasure beside whoever led before, and does not know that it does no more, deletes events of its own persons alone', async () => {
  const database = await create.migrated();
  const { warehouse, cluster } = database;
  await arrive(database, [
    [P('a'), ago(1)],
    [P('b'), ago(300)],
  ]);
  await link(database, [[P('b'), P('b')]]);
  const eraser = createPersonEraser(warehouse, cluster);
  const unseen = createUnseenPersons(warehouse, cluster);
  await eraser.begin([{ erasure_id: 'one', site_id: SITE, kind: 'person', value: P('a'), until: NOW_MS }]);
  const groups = [{ leader: P('b'), persons: [P('b')], version: 1 }];
  await unseen.begin('links', SITE, groups, { seenBeforeMs: ago(30), nowMs: NOW_MS });
  await eraser.deleteEvents();
  await eraser.begin([{ erasure_id: 'one', site_id: SITE, kind: 'person', value: P('a'), until: NOW_MS }]);
  await eraser.deleteEvents();
  await until('all to be deleted', eraser.underWay, ({ size }) => size === 0);
  const left = await rowsOf<{ person: string }>(database, 'SELECT arrived_person_id AS person FROM event_rows');
  expect(left).toEqual([{ person: P('b') }]);
});

test('nobody who is one with somebody that was split lately is unseen, on either side', async () => {
  const database = await create.migrated();
  const unseen = createUnseenPersons(database.warehouse, database.cluster);
  // b left a; c, who is one with b, was in no split; e left d long ago; f is apart; the split of f is another site's.
  await link(database, [
    [P('a'), P('a')],
    [P('b'), P('b')],
    [P('c'), P('b')],
    ...(['d', 'e', 'f'] as const).map((letter): [string, string] => [P(letter), P(letter)]),
  ]);
  const split = (moved: string, stayed: string, days: number, site_id = SITE) => ({
    ...{ site_id, moved: [P(moved)], stayed: [P(stayed)], person_id: P(moved), former_person_id: P(stayed) },
    ...{ version: 1, split_at: ago(days) },
  });
  await insertBlock(database.warehouse, 'person_splits', 'late-splits', [
    split('b', 'a', 40),
    split('e', 'd', 50),
    split('f', 'a', 1, 'elsewhere'),
  ]);
  await unseen.noteOthers(SITE, ago(200));
  expect(leaders(await unseenSince(unseen, 100, 45))).toEqual(['d', 'e', 'f']);
  expect(leaders(await unseenSince(unseen, 100, 40))).toEqual(['a', 'b', 'd', 'e', 'f']);
  expect(leaders(await unseenSince(unseen, 100, 51))).toEqual(['f']);
  expect(await unseen.wereSplit(SITE, ago(50), ago(40))).toBe(true);
  expect(await unseen.wereSplit(SITE, ago(40), ago(1))).toBe(false);
  expect(await unseen.wereSplit(SITE, ago(51), ago(50))).toBe(true);
});

test('whoever is left of those who were one is found again, also without their leader', async () => {
  const database = await create.migrated();
  const unseen = createUnseenPersons(database.warehouse, database.cluster);
  await link(database, [[P('b'), P('a')]]);
  await unseen.noteOthers(SITE, ago(100));
  expect(leaders(await unseenSince(unseen, 60))).toEqual(['a']);
});

test('the server takes what replicas are told', async () => {
  const { warehouse } = await create.migrated();
  const told: string[] = [];
  const server = { command: async ({ query }: { query: string }) => void told.push(query) };
  const replicated = { ...warehouse, servers: [server], ...server } as unknown as typeof warehouse;
  await createUnseenPersons(replicated, { name: 'all', isReplicated: true }).sync();
  expect(told).toHaveLength(4);
  for (const query of told) {
    const formatted = await warehouse.query({ query: 'SELECT formatQuery({query:String})', query_params: { query } });
    expect(await formatted.text()).toContain('SYNC REPLICA ON CLUSTER');
  }
});
