import { TupleParam } from '@clickhouse/client';
import { readError, type Warehouse, WarehouseError } from './client.ts';

export type Row = object;

const DAY_MS = 86_400_000;

const fieldOf = (row: Row, field: string): unknown => (row as Readonly<Record<string, unknown>>)[field];

/** What identifies a row besides its site: columns of the table, and the fields of a row that hold the same. */
interface Identity {
  columns: readonly [sql: string, type: string, field: string][];
  /** The column of its time, whose day is part of the identity. */
  time: string;
  /** Fields by which a row differs from another one with the same identity, such as an event that was sent again. */
  origin: readonly string[];
}

/**
 * Tables in which a row that is there twice counts twice. As in the table's sort key, two events are the same if they have
 * the same day, name, visitor and id. The other tables keep the newest row of a key.
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

/** Bytes of keys in one query. Escaped they may be twice as long, and ClickHouse accepts 128 KiB in a field. */
const ASKED_BYTES_MAX = 32_768;

/** Whether a table would count a row twice that was inserted twice, so that rows must be looked for first. */
export function isLookedFor(table: string): boolean {
  return IDENTITIES[table] !== undefined;
}

/** Which of some rows a table has. */
export interface StoredRows {
  /** The table has neither the row nor another one with its identity. */
  missing: Row[];
  /** The table has the row itself. */
  there: Row[];
  /** The table has another row with its identity: the event was stored before it was sent again. */
  elsewhere: Row[];
}

/**
 * Looks for rows in a table, by site and time, as its parts and its sort key are ordered. Calls `progressed` after each query.
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

/** Sorted by time, so that one query reads few parts. */
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

/** Days since 1970; an earlier time counts as the first day, as in ClickHouse's Date type. */
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

/** The name of the part that holds a row; null if none does. */
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
    const { code, message } = readError(error);
    // Why a query was refused says nothing about the rows.
    throw new WarehouseError(code === 'warehouse_refused' ? 'warehouse_mismatch' : code, message);
  }
}
