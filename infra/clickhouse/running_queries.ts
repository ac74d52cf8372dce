import { readError, type Warehouse } from './client.ts';
import { type QueryName, readQueryId } from './query_ids.ts';

/** A query that ClickHouse works on. Neither its text nor its values: they may name a person. */
export interface RunningQuery extends QueryName {
  runningMs: number;
  rowsRead: number;
  memoryBytes: number;
}

/** The questions that ClickHouse is at work on, whichever control service asked them. */
export interface RunningQueries {
  /** The longest first. @throws WarehouseError */
  list(): Promise<RunningQuery[]>;
  /** Has one end. Resolves to which it was, or null where it does not run. @throws WarehouseError */
  cancel(id: string): Promise<RunningQuery | null>;
}

interface Row {
  id: string;
  seconds: number;
  rows: number;
  bytes: number;
}

/** @param cluster Its servers are all asked. */
export function createRunningQueries(warehouse: Warehouse, cluster: string | null): RunningQueries {
  const processes =
    cluster === null
      ? 'system.processes'
      : `clusterAllReplicas({cluster:String}, view(SELECT * FROM system.processes))`;

  async function list(): Promise<RunningQuery[]> {
    const query = `SELECT initial_query_id AS id, max(elapsed) AS seconds, sum(read_rows) AS rows, sum(memory_usage) AS bytes
      FROM ${processes} GROUP BY id ORDER BY seconds DESC`;
    const result = await warehouse.query({ query, query_params: { cluster }, format: 'JSONEachRow' });
    return (await result.json<Row>()).flatMap(runningOf);
  }

  const failing = async <T>(ask: () => Promise<T>): Promise<T> => {
    try {
      return await ask();
    } catch (error) {
      throw readError(error);
    }
  };

  return {
    list: () => failing(list),
    cancel: (id) =>
      failing(async () => {
        const found = (await list()).find((one) => one.id === id);
        if (found === undefined) return null;
        const everywhere = cluster === null ? '' : ` ON CLUSTER '${cluster}'`;
        await warehouse.command({
          query: `KILL QUERY${everywhere} WHERE endsWith(initial_query_id, {ending:String}) ASYNC`,
          query_params: { ending: `:${id}` },
        });
        return found;
      }),
  };
}

function runningOf({ id, seconds, rows, bytes }: Row): RunningQuery[] {
  const name = readQueryId(id);
  if (name === null) return [];
  const figures = { rowsRead: Number(rows), memoryBytes: Math.max(0, Number(bytes)) };
  return [{ ...name, runningMs: Math.round(seconds * 1_000), ...figures }];
}
