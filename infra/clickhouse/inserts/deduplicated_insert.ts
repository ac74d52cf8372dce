// Inserts a block that may have been inserted before: by its token, and by asking for the rows where that is forgotten.

import { hash, randomUUID } from 'node:crypto';
import { TupleParam } from '@clickhouse/client';
import { insertBlock, select, type Warehouse, WarehouseError } from '../client.ts';
import type { Cluster } from '../cluster.ts';

/** Limits the attempts, for a server that is killed at the same moment of every one of them. */
const TRIES_MAX = 4;

export interface RetryResult {
  /** Events that were stored before and sent again; the stored row stays. */
  sentAgain: number;
  /** Rows that the table does not keep, because they are older than its retention. */
  gone: number;
}

/**
 * Inserts a block that may have been inserted before; the same token always comes with the same rows. The token alone is not
 * enough: the table forgets it after a while, and a server that is killed during an insert may have stored the token without
 * the rows (measured: 2 of 40 kills under a steady stream of inserts). So it looks for the rows, inserts the missing ones,
 * looks again, and inserts what is still missing under tokens of its own.
 *
 * @throws WarehouseError
 */
export async function retryInsert(
  warehouse: Warehouse,
  table: string,
  token: string,
  rows: readonly Row[],
  progressed: () => void = () => undefined,
  cluster: Cluster | null = null,
): Promise<RetryResult> {
  const identity = IDENTITIES[table];
  if (identity === undefined) {
    await insertBlock(warehouse, table, `${token}/${randomUUID()}`, rows);
    return { sentAgain: 0, gone: 0 };
  }
  const found = await storedRows(warehouse, table, rows, progressed);
  const sentAgain = found.elsewhere.length;
  await insertBlock(warehouse, table, token, found.missing);
  // Replicas store a token and its rows together, and one of them may not have yet what another one has: so much for looking.
  if (cluster?.isReplicated) return { sentAgain, gone: 0 };
  let { missing } = await storedRows(warehouse, table, found.missing, progressed);
  for (let tries = 1; tries <= TRIES_MAX && missing.length > 0; tries++) {
    // The digest makes two processes that find the same rows missing insert them once.
    const digest = hash('sha256', missing.map((row) => keyOf(identity, row)).join('\n'));
    await insertBlock(warehouse, table, `${token}/again ${tries} ${digest}`, missing);
    ({ missing } = await storedRows(warehouse, table, missing, progressed));
  }
  return { sentAgain, gone: missing.length };
}

/** Inserts a block for the first time, without those late events that the table has already. @throws WarehouseError */
export async function insertBlockFirst(
  warehouse: Warehouse,
  table: string,
  token: string,
  rows: readonly Row[],
  isLate: (row: Row) => boolean,
  progressed: () => void = () => undefined,
): Promise<RetryResult> {
  const late = rows.filter(isLate);
  const { there, elsewhere } =
    late.length === 0 ? { there: [], elsewhere: [] } : await storedRows(warehouse, table, late, progressed);
  const stored = [...there, ...elsewhere];
  await insertBlock(warehouse, table, token, stored.length === 0 ? rows : without(rows, stored));
  return { sentAgain: stored.length, gone: 0 };
}

function without(rows: readonly Row[], some: readonly Row[]): Row[] {
  const left = new Set(some);
  return rows.filter((row) => !left.has(row));
}

type Row = object;

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
      ['sent_id', 'String', 'event_id'],
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

interface StoredRows {
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
async function storedRows(
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
    else {
      const origin = identity.origin.map((field) => fieldOf(row, field)).join(':');
      (of.has(origin) ? found.there : found.elsewhere).push(row);
    }
  }
  return found;
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
  // Days since 1970; an earlier time counts as the first day, as in ClickHouse's Date type.
  const day = Math.max(0, Math.floor(timeOf(identity, row) / DAY_MS));
  return JSON.stringify([fieldOf(row, 'site_id'), String(day), ...texts]);
}

async function keysThere(warehouse: Warehouse, table: string, identity: Identity, rows: readonly Row[]) {
  const { columns, time, origin } = identity;
  const texts = (names: readonly string[]): string => names.map((name) => `toString(${name})`).join(', ');
  const key = `[toString(site_id), toString(toUInt16(toDate(${time}))), ${texts(columns.map(([sql]) => sql))}] AS key`;
  const from = `arrayStringConcat([${texts(origin)}]::Array(String), ':') AS origin`;
  return ask<{ key: string[]; origin: string }>(warehouse, table, identity, rows, `${key}, ${from}`);
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
    return await select<Answer>(warehouse, query, query_params);
  } catch (error) {
    // Why a query was refused says nothing about the rows.
    if (!(error instanceof WarehouseError) || error.code !== 'warehouse_refused') throw error;
    throw new WarehouseError('warehouse_mismatch', error.message);
  }
}
