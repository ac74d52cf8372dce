import { hash, randomUUID } from 'node:crypto';
import { TupleParam } from '@clickhouse/client';
import { insertBlock, readError, type Warehouse, WarehouseError } from './client.ts';

type Row = object;

const fieldOf = (row: Row, field: string): unknown => (row as Readonly<Record<string, unknown>>)[field];

/** How a row of a site is told from the others, and by when: as columns of the table and as a row holds them. */
interface Identity {
  columns: readonly [sql: string, type: string, field: string][];
  time: string;
}

/**
 * Tables in which a row that stands twice counts twice. An event that was sent again long after is in the table already
 * when its id is. The others keep the newest row of a key, so that a block may go in as often as it likes.
 */
const IDENTITIES: Readonly<Record<string, Identity>> = {
  event_rows: { columns: [['event_id', 'String', 'event_id']], time: 'timestamp' },
  delivery_outcomes: {
    columns: [
      ['destination', 'String', 'destination'],
      ['event_id', 'String', 'event_id'],
      ['attempt', 'Int32', 'attempt'],
      ['toUnixTimestamp64Milli(attempted_at)', 'Int64', 'attempted_at'],
    ],
    time: 'attempted_at',
  },
};

/** Bytes of keys that one query asks for: escaped they may be twice as many, and ClickHouse takes 128 KiB in a field. */
const ASKED_BYTES_MAX = 32_768;
/** A server that is killed again and again in the same moment of the same block. */
const TRIES_MAX = 4;

/**
 * Inserts a block that may have been inserted before; the same token is the same rows. A server that is killed in the
 * middle of an insert may have written the token down and not the part, and drops the block from then on (measured: 2 of
 * 40 kills under a steady stream of inserts). So the rows are looked for afterwards, and those that are not there go in
 * under a token of their own. Answers how many rows did not stay all the same, as rows that are older than the table
 * keeps any may not.
 *
 * @throws WarehouseError
 */
export async function insertBlockAgain(
  warehouse: Warehouse,
  table: string,
  token: string,
  rows: readonly Row[],
): Promise<number> {
  const identity = IDENTITIES[table];
  if (identity === undefined) {
    await insertBlock(warehouse, table, `${token}/${randomUUID()}`, rows);
    return 0;
  }
  await insertBlock(warehouse, table, token, rows);
  let missing = await missingOf(warehouse, table, identity, rows);
  for (let tries = 1; tries <= TRIES_MAX && missing.length > 0; tries++) {
    // Two members that find the same rows missing are to insert them once.
    const digest = hash('sha256', missing.map((row) => keyOf(identity, row)).join('\n'));
    await insertBlock(warehouse, table, `${token}/again ${tries} ${digest}`, missing);
    missing = await missingOf(warehouse, table, identity, missing);
  }
  return missing.length;
}

async function missingOf(
  warehouse: Warehouse,
  table: string,
  identity: Identity,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  const missing: Row[] = [];
  for (const some of askedTogether(identity, rows)) {
    const found = await keysThere(warehouse, table, identity, some);
    missing.push(...some.filter((row) => !found.has(keyOf(identity, row))));
  }
  return missing;
}

function askedTogether(identity: Identity, rows: readonly Row[]): Row[][] {
  const asked: Row[][] = [];
  let bytes = 0;
  for (const row of rows) {
    const more = Buffer.byteLength(keyOf(identity, row));
    const last = asked.at(-1);
    if (last !== undefined && bytes + more <= ASKED_BYTES_MAX) {
      last.push(row);
      bytes += more;
    } else {
      asked.push([row]);
      bytes = more;
    }
  }
  return asked;
}

function keyOf({ columns }: Identity, row: Row): string {
  return [fieldOf(row, 'site_id'), ...columns.map(([, , field]) => fieldOf(row, field))].map(String).join('\n');
}

/** Which of the rows' keys are in the table. Sites and times are what its parts and sort key go by. */
async function keysThere(
  warehouse: Warehouse,
  table: string,
  { columns, time }: Identity,
  rows: readonly Row[],
): Promise<Set<string>> {
  const names = columns.map(([sql]) => sql);
  const type = columns.length === 1 ? columns[0]?.[1] : `Tuple(${columns.map(([, of]) => of).join(', ')})`;
  const query = `SELECT [site_id, ${names.map((name) => `toString(${name})`).join(', ')}] AS key FROM ${table}
    WHERE site_id IN {sites:Array(String)} AND ${time} BETWEEN fromUnixTimestamp64Milli({from:Int64}, 'UTC')
      AND fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND (${names.join(', ')}) IN {keys:Array(${type})}`;
  const times = rows.map((row) => Number(fieldOf(row, time)));
  const query_params = {
    sites: [...new Set(rows.map((row) => fieldOf(row, 'site_id')))],
    from: Math.min(...times),
    to: Math.max(...times),
    keys: rows.map((row) => {
      const key = columns.map(([, , field]) => fieldOf(row, field));
      return key.length === 1 ? key[0] : new TupleParam(key);
    }),
  };
  try {
    const result = await warehouse.query({ query, query_params, format: 'JSONEachRow' });
    return new Set((await result.json<{ key: string[] }>()).map(({ key }) => key.join('\n')));
  } catch (error) {
    // Whatever a question is refused for, it says nothing of the rows.
    throw new WarehouseError('warehouse_unavailable', readError(error).message);
  }
}
