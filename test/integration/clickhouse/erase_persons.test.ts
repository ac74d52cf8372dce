import { expect, test } from 'vitest';
import { insertBlock, run } from '#infra/clickhouse/client.ts';
import { createPersonEraser, type ErasedSubject } from '#infra/clickhouse/erasure/erase_rows.ts';
import { createUnseenPersons } from '#infra/clickhouse/erasure/unseen_persons.ts';
import { noIdentifiers } from '#pipelines/privacy/hash_identifiers.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { until } from '#test/harness/until.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { type Database, deleteAll, rowsOf, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const AT_MS = Date.UTC(2026, 9, 5, 12);
const UNTIL_MS = AT_MS + 3_600_000;
const P = (letter: string): string => `p_${letter.repeat(32)}`;

function row(event_id: string, person_id: string, more: Parameters<typeof sampleEvent>[0] = {}, offset = 0) {
  return eventRow({
    coordinate: { partition: 0, offset, index: 0 },
    person: { person_id, identifiers: null },
    event: sampleEvent({ event_id, timestamp: AT_MS, received_at: AT_MS, value: 2, ...more }),
  });
}

const subject = (kind: ErasedSubject['kind'], value: string): ErasedSubject => ({
  ...{ erasure_id: 'e1', site_id: sampleEvent().site_id, kind, value, until: UNTIL_MS },
});

const idsIn = async (database: Database, table: string): Promise<string[]> =>
  (await rowsOf<{ event_id: string }>(database, `SELECT event_id FROM ${table} ORDER BY event_id`)).map(
    ({ event_id }) => event_id,
  );

const outcome = (event_id: string, coordinate_offset = 0) => ({
  ...{ site_id: sampleEvent().site_id, destination: 'meta', event_id, event: 'purchase', coordinate_partition: 0 },
  ...{ coordinate_offset, coordinate_index: 0, outcome: 'delivered', reason: '', attempt: 1, received_at: AT_MS },
  ...{ attempted_at: AT_MS, took_ms: 1, answer_status: 200, answer: '' },
});

test('whoever goes on after a kill still knows events whose rows are gone, by which late outcomes are found', async () => {
  const database = await create.migrated();
  const { warehouse, cluster } = database;
  await insertBlock(warehouse, 'event_rows', 'first', [row('theirs', P('a')), row('another', P('d'))]);
  const subjects = [subject('person', P('a'))];
  const killed = createPersonEraser(warehouse, cluster);
  const isOver = (running: Map<string, unknown>): boolean => running.size === 0;
  await killed.begin(subjects);
  expect(await killed.hasRows()).toBe(true);
  await killed.deleteEvents();
  await until('the events', killed.underWay, isOver);
  await insertBlock(warehouse, 'delivery_outcomes', 'first', [outcome('theirs'), outcome('another')]);
  const next = createPersonEraser(warehouse, cluster);
  await next.begin(subjects);
  expect(await next.count()).toContainEqual({ erasure_id: 'e1', place: 'event_rows', count: 1 });
  expect(await next.hasRows()).toBe(true);
  await next.deleteBesides();
  await until('the outcomes', next.underWay, isOver);
  expect(await next.hasRows()).toBe(false);
  expect(await idsIn(database, 'delivery_outcomes')).toEqual(['another']);
  // Of another batch nothing is kept.
  await next.begin([{ ...subject('person', P('f')), erasure_id: 'e2' }]);
  expect(await rowsOf(database, 'SELECT DISTINCT erasure_id FROM erasing')).toEqual([{ erasure_id: 'e2' }]);
  await next.end();
});

test('rows of a person go from every table, and those of others stay', async () => {
  const database = await create.migrated();
  const { warehouse, cluster } = database;
  const { site_id } = sampleEvent();
  const email = 'e'.repeat(64);
  const says = { identifiers: { ...noIdentifiers(), email } };
  await insertBlock(warehouse, 'event_rows', 'rows', [
    row('theirs', P('a')),
    row('theirs-merged', P('b')),
    row('says-theirs', P('c'), { ...says, received_at: UNTIL_MS + 1 }),
    row('says-theirs-later', P('c'), { ...says, timestamp: UNTIL_MS + 1, received_at: UNTIL_MS + 1 }),
    row('other-site', P('a'), { site_id: 'elsewhere' }),
    row('another', P('d')),
    row('past', P('a'), { historical: true, distinct_id: 'of-the-past' }),
  ]);
  await insertBlock(warehouse, 'delivery_outcomes', 'outcomes', [outcome('theirs'), outcome('another')]);
  const link = (person_id: string, target: string) => ({ site_id, person_id, target, first_seen: AT_MS, version: 1 });
  await insertBlock(warehouse, 'person_links', 'links', [link(P('b'), P('a')), link(P('e'), P('d'))]);
  await insertBlock(warehouse, 'person_splits', 'splits', [
    {
      ...{ site_id, moved: [P('a')], stayed: [P('f')], person_id: P('a'), former_person_id: P('f') },
      ...{ version: 1, split_at: Date.now() },
    },
  ]);

  const eraser = createPersonEraser(warehouse, cluster);
  const subjects = [
    subject('person', P('a')),
    subject('person', P('b')),
    subject('email', email),
    subject('phone', ''),
  ];
  await eraser.begin(subjects);
  const counted = await eraser.count();
  expect(counted.toSorted((one, other) => (one.place < other.place ? -1 : 1))).toEqual([
    { erasure_id: 'e1', place: 'delivery_outcomes', count: 1 },
    { erasure_id: 'e1', place: 'event_rows', count: 4 },
    { erasure_id: 'e1', place: 'person_links', count: 1 },
  ]);
  // Of what was attempted, and of what is not known to have been, where it arrived since the destination was set up.
  const sentSince = async (sinceMs: number) =>
    (await eraser.sentTo(site_id, 'meta', sinceMs)).map(({ person_id }) => person_id).sort();
  const names = (await eraser.sentTo(site_id, 'meta', AT_MS)).map(({ distinct_id }) => distinct_id);
  expect(names).not.toContain('of-the-past');
  expect(await sentSince(AT_MS + 1)).toEqual([P('a'), P('c')]);
  expect(await sentSince(AT_MS)).toEqual([P('a'), P('b'), P('c')]);
  await eraser.deleteBesides();
  // Who was killed here begins anew.
  await eraser.begin(subjects);
  await deleteAll(eraser);

  expect(await idsIn(database, 'event_rows')).toEqual(['another', 'other-site', 'says-theirs-later']);
  expect(await idsIn(database, 'delivery_outcomes')).toEqual(['another']);
  expect(await rowsOf(database, 'SELECT person_id FROM person_links')).toEqual([{ person_id: P('e') }]);
  expect(await rowsOf(database, 'SELECT lower(hex(person)) AS person FROM merged_persons')).toEqual([
    { person: 'd'.repeat(32) },
  ]);
  expect(await rowsOf(database, 'SELECT site_id FROM person_splits')).toEqual([]);
  expect(await rowsOf(database, 'SELECT site_id FROM erasing')).toEqual([]);
  const [first] = await rowsOf<{ statements: string }>(
    database,
    'SELECT arrayStringConcat(groupArray(command)) AS statements FROM system.mutations WHERE database = currentDatabase()',
  );
  expect(first?.statements).not.toMatch(new RegExp(`${P('a')}|${email}`));
});

test('of events of different people that have one id those of others stay, with all that is known of them', async () => {
  const database = await create.migrated();
  const { warehouse, cluster } = database;
  const { site_id } = sampleEvent();
  const later = { timestamp: AT_MS + 5 * 86_400_000, distinct_id: 'another' };
  await insertBlock(warehouse, 'event_rows', 'rows', [
    row('order-1', P('a'), { distinct_id: 'theirs' }, 1),
    row('order-1', P('d'), later, 2),
    row('order-2', P('a'), {}, 3),
  ]);
  await insertBlock(warehouse, 'delivery_outcomes', 'outcomes', [outcome('order-1', 1), outcome('order-1', 2)]);
  const repeated = ['order-1', 'order-2'].map((id) => `('${site_id}', cityHash64('${id}'), now())`);
  await run(warehouse, `INSERT INTO repeated_events VALUES ${repeated.join(', ')}`, {}, {});
  const eraser = createPersonEraser(warehouse, cluster);
  await eraser.begin([subject('person', P('a'))]);
  expect(await eraser.count()).toEqual([
    { erasure_id: 'e1', place: 'event_rows', count: 2 },
    { erasure_id: 'e1', place: 'delivery_outcomes', count: 1 },
  ]);
  const sent = await eraser.sentTo(site_id, 'meta', AT_MS + 1);
  expect(sent.map(({ distinct_id }) => distinct_id)).toEqual(['theirs']);
  await deleteAll(eraser);
  expect(await rowsOf(database, 'SELECT event_id, distinct_id FROM event_rows')).toEqual([
    { event_id: 'order-1', distinct_id: 'another' },
  ]);
  expect(await rowsOf(database, 'SELECT coordinate_offset AS offset FROM delivery_outcomes')).toEqual([{ offset: 2 }]);
  expect(await rowsOf(database, `SELECT event_hash = cityHash64('order-1') AS stays FROM repeated_events`)).toEqual([
    { stays: 1 },
  ]);
  expect(await eraser.hasRows()).toBe(false);
});

test('who was split from the erased counts as seen now, where persons of the site are looked for', async () => {
  const database = await create.migrated();
  const { warehouse, cluster } = database;
  const { site_id } = sampleEvent();
  const split = (site: string) => ({
    ...{ site_id: site, moved: [P('a'), P('b')], stayed: [P('c')], person_id: P('a'), former_person_id: P('c') },
    ...{ version: 1, split_at: Date.now() },
  });
  await insertBlock(warehouse, 'person_splits', 'of-erased', [split(site_id), split('elsewhere')]);
  await createUnseenPersons(warehouse, cluster).done(site_id, AT_MS);
  const eraser = createPersonEraser(warehouse, cluster);
  await eraser.begin([subject('person', P('a')), { ...subject('person', P('a')), site_id: 'elsewhere' }]);
  await deleteAll(eraser);
  expect(await rowsOf(database, 'SELECT site_id FROM person_splits')).toEqual([]);
  const letters = 'abc'.split('').map((letter) => `cityHash64('${P(letter)}'), '${letter}'`);
  const seen = await rowsOf<{ letter: string; isNew: number }>(
    database,
    `SELECT multiIf(${letters.map((pair) => `person_hash = ${pair}`).join(', ')}, 'mark') AS letter, seen_at > now('UTC') - 600 AS isNew
     FROM person_seen FINAL ORDER BY letter`,
  );
  expect(seen.map(({ letter, isNew }) => [letter, Boolean(isNew)])).toEqual([
    ['b', true],
    ['c', true],
    ['mark', false],
  ]);
});
