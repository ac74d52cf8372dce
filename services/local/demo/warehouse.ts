import { request } from 'undici';
import { FUNNEL_STEPS, FUNNEL_WINDOW_MS } from './world/funnel.ts';

/** What of this run ClickHouse is asked for. */
export interface Scope {
  siteId: string;
  /** What every event id of the run begins with. */
  idPrefix: string;
}

export interface SiteCounts {
  rows: number;
  ids: number;
  people: number;
}

export interface StoredEvent {
  eventId: string;
  name: string;
}

/** Asks ClickHouse; rows come back as objects, one a line of its answer. */
export type Ask = (sql: string, scope: Scope) => Promise<Record<string, unknown>[]>;

/** `code` is `clickhouse_refused`; the message holds ClickHouse's own words, which name no value of ours but the run's prefix. */
class WarehouseError extends Error {
  readonly code = 'clickhouse_refused';
}

const RUN_OF_SITE = `site_id = {site:String} AND startsWith(event_id, {prefix:String})`;

/**
 * @param address ClickHouse's HTTP interface with credentials and, where it matters, the database in it
 */
export function askClickHouse(address: string): Ask {
  const base = new URL(address);
  const credentials = `${decodeURIComponent(base.username)}:${decodeURIComponent(base.password)}`;
  const headers = base.username === '' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
  base.username = '';
  base.password = '';
  return async (sql, { siteId, idPrefix }) => {
    const url = new URL(base);
    url.searchParams.set('param_site', siteId);
    url.searchParams.set('param_prefix', idPrefix);
    const answer = await request(url, { method: 'POST', headers, body: `${sql} FORMAT JSONEachRow` });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new WarehouseError(text.slice(0, 300));
    return text.split('\n').filter(Boolean).map(parseRow);
  };
}

function parseRow(line: string): Record<string, unknown> {
  return JSON.parse(line) as Record<string, unknown>;
}

/** Rows, different event ids and different people of the run, as they stand now. */
export async function countSite(ask: Ask, scope: Scope): Promise<SiteCounts> {
  const sql = `SELECT count() AS rows, uniqExact(event_id) AS ids, uniqExact(person_id) AS people FROM events WHERE ${RUN_OF_SITE}`;
  const [row] = await ask(sql, scope);
  return { rows: Number(row?.['rows'] ?? 0), ids: Number(row?.['ids'] ?? 0), people: Number(row?.['people'] ?? 0) };
}

/** Every row of the run. */
export async function listEvents(ask: Ask, scope: Scope): Promise<StoredEvent[]> {
  const rows = await ask(`SELECT event_id, event FROM events WHERE ${RUN_OF_SITE}`, scope);
  return rows.map((row) => ({ eventId: String(row['event_id']), name: String(row['event']) }));
}

/** How many steps each person reached, as windowFunnel counts them, gathered to people by number of steps. */
function funnelSql(steps: readonly string[]): string {
  const conditions = steps.map((step) => `event = '${step}'`).join(', ');
  // windowFunnel refuses DateTime64; milliseconds as an unsigned number keep the order within a second.
  const at = 'toUInt64(toUnixTimestamp64Milli(timestamp))';
  const perPerson = `SELECT windowFunnel(${FUNNEL_WINDOW_MS})(${at}, ${conditions}) AS steps FROM events WHERE ${RUN_OF_SITE} GROUP BY person_id`;
  return `SELECT steps, count() AS people FROM (${perPerson}) GROUP BY steps`;
}

/** People who reached at least each of FUNNEL_STEPS. */
export async function countFunnel(ask: Ask, scope: Scope): Promise<number[]> {
  const rows = await ask(funnelSql(FUNNEL_STEPS), scope);
  return FUNNEL_STEPS.map((_, step) =>
    rows.filter((row) => Number(row['steps']) > step).reduce((sum, row) => sum + Number(row['people']), 0),
  );
}
