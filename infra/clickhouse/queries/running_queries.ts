// Names of queries, and those that run now.

import { randomUUID } from 'node:crypto';
import { run, select, type Warehouse } from '../client.ts';
import { type Cluster, everywhere, WHO_ANSWERS } from '../cluster.ts';

/** A query that ClickHouse works on. Neither its text nor its values: they may name a person. */
export interface RunningQuery extends QueryName {
  runningMs: number;
  rowsRead: number;
  memoryBytes: number;
}

/** The questions that ClickHouse is at work on, whichever control service asked them. */
export type RunningQueries = ReturnType<typeof createRunningQueries>;

interface Row {
  id: string;
  seconds: number;
  rows: number;
  bytes: number;
}

/** @param cluster Its servers are all asked. */
export function createRunningQueries(warehouse: Warehouse, cluster: Cluster | null) {
  const processes =
    cluster === null
      ? 'system.processes'
      : `clusterAllReplicas({cluster:String}, view(SELECT * FROM system.processes))`;

  /** The longest first. @throws WarehouseError */
  async function list(): Promise<RunningQuery[]> {
    const query = `SELECT initial_query_id AS id, max(elapsed) AS seconds, sum(read_rows) AS rows, sum(memory_usage) AS bytes
      FROM ${processes} GROUP BY id ORDER BY seconds DESC`;
    return (await select<Row>(warehouse, query, { cluster: cluster?.name }, WHO_ANSWERS)).flatMap(runningOf);
  }

  return {
    list,
    /** Has one end. Resolves to which it was, or null where it does not run. @throws WarehouseError */
    async cancel(id: string): Promise<RunningQuery | null> {
      const found = (await list()).find((one) => one.id === id);
      if (found === undefined) return null;
      await everywhere(warehouse, cluster, ({ server, on }) =>
        run(server, `KILL QUERY${on} WHERE endsWith(initial_query_id, {ending:String}) ASYNC`, { ending: `:${id}` }),
      );
      return found;
    },
  };
}

function runningOf({ id, seconds, rows, bytes }: Row): RunningQuery[] {
  const name = readQueryId(id);
  if (name === null) return [];
  const figures = { rowsRead: Number(rows), memoryBytes: Math.max(0, Number(bytes)) };
  return [{ ...name, runningMs: Math.round(seconds * 1_000), ...figures }];
}

/** In the place of a site: the query is about all of them. */
export const ALL_SITES = '*';

/** What a running query is called: its id in ClickHouse says whose it is to every process that looks. */
interface QueryName {
  /** Or ALL_SITES. */
  siteId: string;
  /** `funnel`, `sql`, ... */
  kind: string;
  askedBy: string;
  /** A UUID. */
  id: string;
}

export interface QueryCaller {
  label: string;
  /** Aborted when nobody waits for the answer any more. */
  signal: AbortSignal;
}

/** The id of a new query. It begins with the site and a colon, by which rights of SQL go; sites and kinds have no colon. */
export const newQueryId = ({ siteId, kind, askedBy }: Omit<QueryName, 'id'>): string =>
  [siteId, kind, Buffer.from(askedBy).toString('base64url'), randomUUID()].join(':');

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whose query an id of ClickHouse is of; null: not one of ours. */
export function readQueryId(text: string): QueryName | null {
  const [siteId = '', kind = '', askedBy, id = '', ...more] = text.split(':');
  if (askedBy === undefined || more.length > 0 || siteId === '' || kind === '' || !UUID.test(id)) return null;
  return { siteId, kind, askedBy: Buffer.from(askedBy, 'base64url').toString('utf8'), id };
}
