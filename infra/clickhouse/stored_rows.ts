import { TupleParam } from '@clickhouse/client';
import { readError, type Warehouse, WarehouseError } from './client.ts';

export type Row = object;

const DAY_MS = 86_400_000;

const fieldOf = (row: Row, field: string): unknown => (row as Readonly<Record<string, unknown>>)[field];

/** How a row of a site is told from the others, beside the site itself: as columns of the table and as a row holds them. */
interface Identity {
  columns: readonly [sql: string, type: string, field: string][];
  /** By when. The day of it is part of the identity. */
  time: string;
  /** What tells the row itself from another of the same identity, such as an event that was sent again. */
  origin: readonly string[];
}

/**
 * Tables in which a row that stands twice counts twice. An event is the same as another of its day, name and visitor with its
 * id, as the table's sort key has it. The other tables keep the newest row of a key.
 */
const IDENTITIES: Readonly<Record<string, Identity>> = {
  event_rows: {
    columns: [
      ['event', 'String', 'event'],
      ['distinct_id', 'String', 'distinct_id'],
      ['event_id', 'String', 'event_id'],
    ],
    time: 'timestamp',
    origin: ['raw_partition', 'raw_offset', 'raw_index'],
  },
  delivery_outcomes: {
    columns: [
      ['destination', 'String', 'destination'],
      ['event_id', 'String', 'event_id'],
      ['attempt', 'Int32', 'attempt'],
      ['toUnixTimestamp64Milli(attempted_at)', 'Int64', 'attempted_at'],
    ],
    time: 'attempted_at',
    origin: [],
  },
};

/** Bytes of keys that one query asks for: escaped they may be twice as many, and ClickHouse takes 128 KiB in a field. */
const ASKED_BYTES_MAX = 32_768;

/** Whether a table counts a row twice that stands there twice, so that its rows are looked for. */
export function isLookedFor(table: string): boolean {
  return IDENTITIES[table] !== undefined;
}

/** What a table has of some rows. */
export interface StoredRows {
  /** Neither they nor others of the same identity are there. */
  missing: Row[];
  /** They are there themselves. */
  there: Row[];
  /** Another row of their identity is there: an event that was stored before it was sent again. */
  elsewhere: Row[];
}

/**
 * Looks for rows of a table. Sites and times are what its parts and sort key go by. Told after each question that it goes on.
 *
 * @throws WarehouseError
 */
export async function storedRows(
  warehouse: Warehouse,
  table: string,
  rows: readonly Row[],
  progressed: () => void = () => undefined,
): Promise<StoredRows> {
  const identity = IDENTITIES[table];
  if (identity === undefined) throw new Error(`rows of ${table} are not told apart`);
  const origins = new Map<string, Set<string>>();
  for (const some of askedTogether(identity, rows)) {
    for (const { key, origin } of await keysThere(warehouse, table, identity, some)) {
      const name = JSON.stringify(key);
      origins.set(name, (origins.get(name) ?? new Set()).add(origin));
    }
    progressed();
  }
  const found: StoredRows = { missing: [], there: [], elsewhere: [] };
  for (const row of rows) {
    const of = origins.get(keyOf(identity, row));
    if (of === undefined) found.missing.push(row);
    else (of.has(originOf(identity, row)) ? found.there : found.elsewhere).push(row);
  }
  return found;
}

/** The identity of a row as text. */
export function identityOf(table: string, row: Row): string {
  const identity = IDENTITIES[table];
  return identity === undefined ? '' : keyOf(identity, row);
}

/** By time, so that one question reads few parts. */
function askedTogether(identity: Identity, rows: readonly Row[]): Row[][] {
  const asked: Row[][] = [];
  let bytes = 0;
  for (const row of rows.toSorted((one, other) => timeOf(identity, one) - timeOf(identity, other))) {
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

const timeOf = ({ time }: Identity, row: Row): number => Number(fieldOf(row, time));

function keyOf(identity: Identity, row: Row): string {
  const texts = identity.columns.map(([, , field]) => String(fieldOf(row, field)));
  return JSON.stringify([fieldOf(row, 'site_id'), dayOf(timeOf(identity, row)), ...texts]);
}

/** Days since 1970; what was before it is of its first day, as ClickHouse's dates have it. */
const dayOf = (ms: number): string => String(Math.max(0, Math.floor(ms / DAY_MS)));

function originOf({ origin }: Identity, row: Row): string {
  return origin.map((field) => fieldOf(row, field)).join(':');
}

interface FoundKey {
  key: string[];
  origin: string;
}

async function keysThere(
  warehouse: Warehouse,
  table: string,
  identity: Identity,
  rows: readonly Row[],
): Promise<FoundKey[]> {
  const { columns, time, origin } = identity;
  const texts = (names: readonly string[]): string => names.map((name) => `toString(${name})`).join(', ');
  const key = `[toString(site_id), toString(toUInt16(toDate(${time}))), ${texts(columns.map(([sql]) => sql))}] AS key`;
  const from = `arrayStringConcat([${texts(origin)}]::Array(String), ':') AS origin`;
  return ask(warehouse, table, identity, rows, `${key}, ${from}`);
}

/** The name of a part that a row is in; null where it is in none. */
export async function partOf(warehouse: Warehouse, table: string, row: Row): Promise<string | null> {
  const identity = IDENTITIES[table];
  if (identity === undefined) return null;
  const [found] = await ask<{ part: string }>(warehouse, table, identity, [row], '_part AS part');
  return found?.part ?? null;
}

async function ask<Answer>(
  warehouse: Warehouse,
  table: string,
  { columns, time }: Identity,
  rows: readonly Row[],
  wanted: string,
): Promise<Answer[]> {
  const query = `SELECT ${wanted} FROM ${table}
    WHERE site_id IN {sites:Array(String)} AND ${time} >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
      AND ${time} < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
      AND (${columns.map(([sql]) => sql).join(', ')}) IN {keys:Array(Tuple(${columns.map(([, of]) => of).join(', ')}))}`;
  const times = rows.map((row) => Number(fieldOf(row, time)));
  const startOfDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;
  const query_params = {
    sites: [...new Set(rows.map((row) => fieldOf(row, 'site_id')))],
    from: startOfDay(Math.min(...times)),
    to: startOfDay(Math.max(...times)) + DAY_MS,
    keys: rows.map((row) => new TupleParam(columns.map(([, , field]) => fieldOf(row, field)))),
  };
  try {
    const result = await warehouse.query({ query, query_params, format: 'JSONEachRow' });
    return await result.json<Answer>();
  } catch (error) {
    // Whatever a question is refused for, it says nothing of the rows.
    throw new WarehouseError('warehouse_unavailable', readError(error).message);
  }
}
