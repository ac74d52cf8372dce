import type { Warehouse } from '#infra/clickhouse/client.ts';
import { checkDuplicates } from '#infra/clickhouse/inserts/duplicate_check.ts';
import { QUERY_LIMITS, querySettings } from '#infra/clickhouse/queries/select_rows.ts';
import { type FunnelQuery, funnelPlan } from '#pipelines/analytics/funnels/query.ts';
import { funnelStatement } from '#pipelines/analytics/funnels/sql.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import { say } from '../results.ts';
import { partsOf, withWarehouse } from '../warehouse_alone.ts';
import { EVENTS, FROM, fill, SITE, SITE_EVENTS, TO } from './fill.ts';

const ROUNDS = 15;
const GOAL_MS = 150;

const FUNNEL: FunnelQuery = {
  from: FROM,
  to: TO,
  window_ms: TO - FROM,
  steps: ['page_view', 'view_item', 'add_to_cart', 'purchase'].map((event) => ({ events: [event] })),
};

/** What the funnel reads, and nothing done with it but one digest of each row. */
const SCAN = `SELECT sum(cityHash64(arrived_person_id, sent_id, event, timestamp, received_at, raw_index)) AS digest
FROM event_rows WHERE site_id = '${SITE}' AND timestamp >= fromUnixTimestamp64Milli(${FROM}, 'UTC') AND timestamp < fromUnixTimestamp64Milli(${TO}, 'UTC')`;

/**
 * A funnel of four steps over 30 days of one site among five million events, people resolved as known now, beside the plain
 * scan of the same rows and ClickHouse's own windowFunnel. Times are the server's.
 */
export async function benchQuery(): Promise<void> {
  await withWarehouse('query', async ({ warehouse }) => {
    say(`inserting ${EVENTS} events, ${SITE_EVENTS} of them of the site`);
    await fill(warehouse);
    await checkDuplicates(warehouse);
    await measure(warehouse);
  });
}

async function measure(warehouse: Warehouse): Promise<void> {
  const subjects: [string, Statement][] = [
    ['plain scan of the same rows', { sql: SCAN, parameters: {} }],
    ['windowFunnel, people as they arrived', { sql: windowFunnel('event_rows', 'arrived_person_id'), parameters: {} }],
    ['windowFunnel, people as known now', { sql: windowFunnel('events', 'person_id'), parameters: {} }],
    ['the funnel of /v1/query', funnelStatement(SITE, funnelPlan(FUNNEL))],
    ['the funnel in strict order', funnelStatement(SITE, funnelPlan({ ...FUNNEL, order: 'strict' }))],
    ['the funnel by session', funnelStatement(SITE, funnelPlan({ ...FUNNEL, count_by: 'session' }))],
  ];
  say(`${await partsOf(warehouse)} parts; ${ROUNDS} rounds; the server's own time in ms`);
  say(`${''.padEnd(40)}${'least'.padStart(8)}${'median'.padStart(8)}${'most'.padStart(8)}`);
  for (const [name, statement] of subjects) {
    const times = await rounds(warehouse, statement);
    const [least = 0, median = 0, most = 0] = [times[0], times[Math.floor(times.length / 2)], times.at(-1)];
    say(`${name.padEnd(40)}${[least, median, most].map((ms) => ms.toFixed(0).padStart(8)).join('')}`);
    if (name.startsWith('the funnel of'))
      say(`  ${median < GOAL_MS ? 'within' : 'NOT within'} the goal of ${GOAL_MS} ms`);
  }
}

function windowFunnel(table: string, person: string): string {
  return `SELECT level, count() AS people FROM (SELECT windowFunnel(${TO - FROM})(toUInt64(toUnixTimestamp64Milli(timestamp)),
  event = 'page_view', event = 'view_item', event = 'add_to_cart', event = 'purchase') AS level FROM ${table}
  WHERE site_id = '${SITE}' AND timestamp >= fromUnixTimestamp64Milli(${FROM}, 'UTC') AND timestamp < fromUnixTimestamp64Milli(${TO}, 'UTC')
  AND event IN ('page_view', 'view_item', 'add_to_cart', 'purchase') GROUP BY ${person}) GROUP BY level ORDER BY level`;
}

async function rounds(warehouse: Warehouse, { sql, parameters }: Statement): Promise<number[]> {
  const times: number[] = [];
  for (let round = -2; round < ROUNDS; round++) {
    const result = await warehouse.query({
      query: sql,
      query_params: parameters,
      format: 'JSON',
      clickhouse_settings: querySettings(QUERY_LIMITS),
    });
    const { statistics } = await result.json<object>();
    if (round >= 0) times.push((statistics?.elapsed ?? Number.NaN) * 1_000);
  }
  return times.sort((a, b) => a - b);
}
