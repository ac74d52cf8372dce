import { expect, test } from 'vitest';
import { checkDuplicates } from '#infra/clickhouse/inserts/duplicate_check.ts';
import { QUERY_LIMITS, querySettings } from '#infra/clickhouse/queries/select_rows.ts';
import type { Filter } from '#pipelines/analytics/filters.ts';
import { withPersonsOf } from '#pipelines/analytics/query_rewrites.ts';
import { trendsPlan } from '#pipelines/analytics/trends/query.ts';
import { trendsStatement } from '#pipelines/analytics/trends/sql.ts';
import { START, storedRow } from './few_rows.ts';
import { type QueryWorld, useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const DAY = 24 * 60;
const DAY_MS = 86_400_000;
const EARLY = 3_000;
const LATE = 200;
/** Of tables that a question looks into beside the events. */
const OTHERS_MAX = 10;

const rows = (count: number, day: number, properties: object) =>
  Array.from({ length: count }, (_, index) =>
    storedRow(`v${index % 7}`, 'visit', day * DAY + index / 10, { properties: JSON.stringify(properties) }),
  );

/** How many rows ClickHouse reads for the events of a day, with a condition. */
async function rowsRead({ database }: QueryWorld, ...filters: Filter[]): Promise<number> {
  const query = { from: START, to: START + DAY_MS, interval: 'day', series: [{}], filters } as const;
  const { sql, parameters } = trendsStatement(
    'shop',
    trendsPlan(withPersonsOf({ ...query, series: [{}] }, 'shop', START)),
  );
  const answer = await database.warehouse.query({
    query: sql,
    query_params: parameters,
    format: 'JSONEachRow',
    clickhouse_settings: { ...querySettings(QUERY_LIMITS), use_query_condition_cache: 0 },
  });
  await answer.json();
  return Number(JSON.parse(String(answer.response_headers['x-clickhouse-summary'])).read_rows);
}

const seenLast = (name: string): Filter => ({
  field: { person: { property: [name] }, seen: 'last' },
  is: 'equal',
  to: ['pro'],
});

test('earlier events are read only for persons whose later ones tell no value, and none to look for repeats', async () => {
  const world = await create();
  await world.store([rows(EARLY, -40, { plan: 'free', old: 'pro' }), rows(LATE, 0, { plan: 'pro' })]);
  await checkDuplicates(world.database.warehouse);
  expect(await rowsRead(world)).toBeLessThanOrEqual(LATE + OTHERS_MAX);
  expect(await rowsRead(world, seenLast('plan'))).toBeLessThanOrEqual(2 * LATE + OTHERS_MAX);
  expect(await rowsRead(world, seenLast('old'))).toBeGreaterThan(EARLY);
});
