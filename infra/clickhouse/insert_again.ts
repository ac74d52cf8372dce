import { insertBlock, readError, type Warehouse, WarehouseError } from './client.ts';

type Row = Readonly<Record<string, unknown>>;

/** How the rows of a table are told from each other, and by which numbers and sites those of a block are found. */
interface Identity {
  of: readonly string[];
  between: readonly string[];
  sites: boolean;
}

const IDENTITIES: Readonly<Record<string, Identity>> = {
  event_rows: {
    of: ['raw_partition', 'raw_offset', 'raw_index'],
    between: ['timestamp', 'received_at', 'raw_partition', 'raw_offset'],
    sites: true,
  },
  delivery_outcomes: {
    of: ['destination', 'coordinate_partition', 'coordinate_offset', 'coordinate_index', 'attempt'],
    between: ['attempted_at', 'coordinate_partition', 'coordinate_offset'],
    sites: true,
  },
  person_links: { of: ['site_id', 'person_id', 'version'], between: ['version'], sites: true },
  quota_usage: {
    of: ['account_id', 'month', 'partition', 'settled_offset'],
    between: ['settled_offset'],
    sites: false,
  },
  inventory: { of: ['inventory_id', 'position'], between: ['received_at'], sites: true },
};

/** A server that is killed again and again in the same moment of the same block. */
const TRIES_MAX = 5;

/**
 * Inserts a block that may have been inserted before; the same token is the same rows. A server that is killed in the
 * middle of an insert may have written the token down and not the part, and drops the block from then on (measured: 2 of
 * 40 kills under a steady stream of inserts). So the rows are looked for afterwards, and those that are not there go in
 * under a token of their own.
 *
 * @throws WarehouseError
 */
export async function insertBlockAgain(
  warehouse: Warehouse,
  table: string,
  token: string,
  rows: readonly Row[],
): Promise<void> {
  let missing = rows;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    await insertBlock(warehouse, table, tries === 0 ? token : `${token}/again ${tries}`, missing);
    missing = await missingOf(warehouse, table, rows);
    if (missing.length === 0) return;
  }
  throw new WarehouseError('warehouse_unavailable', 'clickhouse: rows of a block do not stay');
}

async function missingOf(warehouse: Warehouse, table: string, rows: readonly Row[]): Promise<readonly Row[]> {
  const identity = IDENTITIES[table];
  if (identity === undefined) throw new Error(`the rows of ${table} cannot be told from each other`);
  const columns = identity.of.map((column) => `toString(${column})`).join(', ');
  const query = `SELECT [${columns}] AS row FROM ${table} WHERE ${conditions(identity).join(' AND ')}`;
  const found = new Set((await select(warehouse, query, parameters(identity, rows))).map((row) => row.join('\n')));
  return rows.filter((row) => !found.has(identity.of.map((column) => String(row[column])).join('\n')));
}

function conditions({ between, sites }: Identity): string[] {
  const ranges = between.map((column) => {
    const bound = (end: string): string => {
      const number = `{${end}_${column}:Int64}`;
      return TIMES.has(column) ? `fromUnixTimestamp64Milli(${number}, 'UTC')` : number;
    };
    return `${column} BETWEEN ${bound('least')} AND ${bound('most')}`;
  });
  return [...(sites ? ['site_id IN {sites:Array(String)}'] : []), ...ranges];
}

/** Columns of the type DateTime64(3), which rows hold as milliseconds. */
const TIMES: ReadonlySet<string> = new Set(['timestamp', 'received_at', 'attempted_at']);

function parameters({ between, sites }: Identity, rows: readonly Row[]): Record<string, unknown> {
  const ends = between.flatMap((column): [string, number][] => {
    const numbers = rows.map((row) => Number(row[column]));
    const least = numbers.reduce((a, b) => Math.min(a, b));
    const most = numbers.reduce((a, b) => Math.max(a, b));
    return [
      [`least_${column}`, least],
      [`most_${column}`, most],
    ];
  });
  return Object.fromEntries([...ends, ...(sites ? [['sites', [...new Set(rows.map((row) => row['site_id']))]]] : [])]);
}

async function select(warehouse: Warehouse, query: string, query_params: Record<string, unknown>): Promise<string[][]> {
  try {
    const result = await warehouse.query({ query, query_params, format: 'JSONEachRow' });
    return (await result.json<{ row: string[] }>()).map(({ row }) => row);
  } catch (error) {
    throw readError(error);
  }
}
