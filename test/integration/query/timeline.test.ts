import { expect, test } from 'vitest';
import {
  type ListedRow,
  type Listing,
  type TimelineQuery,
  timelineStatement,
} from '#pipelines/analytics/event_lists.ts';
import { until } from '#test/harness/until.ts';
import { type QueryWorld, rowsOf, useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const FROM = Date.UTC(2026, 9, 5);
const DAY = { from: FROM, to: FROM + 86_400_000, fresh: true };
const VISITORS = 20_000;
const EVENTS = 10 * VISITORS;

/** Ten page views of each visitor in one day; the person of each is named as it is. */
async function fill({ database }: QueryWorld): Promise<void> {
  await database.warehouse.command({
    query: `INSERT INTO event_rows (site_id, event_id, distinct_id, arrived_person_id, event, timestamp, received_at, properties)
      SELECT 'shop', toString(number), concat('d', toString(number % ${VISITORS})), concat('p_', leftPad(toString(number % ${VISITORS}), 32, '0')), 'page_view',
        fromUnixTimestamp64Milli(${FROM} + number, 'UTC'), fromUnixTimestamp64Milli(${FROM} + number, 'UTC'), '{}' FROM numbers(${EVENTS})`,
  });
}

/** As the ids of persons are: 32 digits. */
const person = (number: number): string => `p_${String(number).padStart(32, '0')}`;

const link = (from: string, target: string) =>
  ({ site_id: 'shop', kind: 'person', person_id: from, target, first_seen: FROM, version: 1 }) as const;

async function read({ database }: QueryWorld, query: TimelineQuery): Promise<{ ids: string[]; rowsRead: number }> {
  const { sql, parameters } = timelineStatement('shop', query);
  const result = await database.warehouse.query({ query: sql, query_params: parameters, format: 'JSON' });
  const { data, statistics } = await result.json<ListedRow>();
  return { ids: data.map(({ distinct_id }) => distinct_id), rowsRead: statistics?.rows_read ?? Number.NaN };
}

test('a timeline reads the places of its person alone, and parts of before these were kept are read whole', async () => {
  const world = await create();
  await fill(world);
  await world.link([link(person(7), person(9)), link(person(8), person(9))]);
  const whole = ['d7', 'd8', 'd9'].flatMap((id) => Array.from({ length: 10 }, () => id));
  const named: TimelineQuery[] = [
    { ...DAY, distinct_id: 'd7' },
    { ...DAY, person_id: person(8) },
    { ...DAY, person_id: person(9) },
  ];
  for (const query of named) {
    const { ids, rowsRead } = await read(world, query);
    expect(ids.toSorted()).toEqual(whole);
    expect(rowsRead).toBeLessThan(EVENTS / 4);
  }
  const before = await world.ask<Listing>('timeline', named[0] ?? {});
  for (const projection of ['rows_by_person', 'persons_by_visitor']) {
    await world.database.warehouse.command({ query: `ALTER TABLE event_rows CLEAR PROJECTION ${projection}` });
  }
  const unfinished = `SELECT count() AS parts FROM system.projection_parts WHERE active AND database = currentDatabase()`;
  await until('no part to have a projection', async () => {
    const [left] = await rowsOf<{ parts: number }>(world.database, unfinished);
    return left?.parts === 0;
  });
  expect((await read(world, named[0] as TimelineQuery)).rowsRead).toBeGreaterThan(EVENTS);
  expect(await world.ask<Listing>('timeline', named[0] ?? {})).toEqual(before);
});
