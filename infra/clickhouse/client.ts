// The connection to ClickHouse: client, inserts, long statements, errors with their recovery, and the health probe.

import { randomInt } from 'node:crypto';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import {
  type ClickHouseClient,
  ClickHouseError,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from '@clickhouse/client';
import { createProbe, type ProbeTimes } from '#infra/concurrency/time_limits.ts';
import { ColumnarEvent, EVENT_COLUMNS, nativeBlock } from './inserts/event_columns.ts';
import {
  type Asked,
  connectServers,
  readClickhouseAddress,
  readClickhouseLogin,
  type Server,
  type Warehouse,
  type WatchedServer,
} from './servers.ts';

export type { Warehouse } from './servers.ts';

const REQUEST_TIMEOUT_MS = 60_000;

/** By itself the client takes 16 KiB, which signs of life have filled after some twenty minutes; this is for hours. */
const HEADER_BYTES_MAX = 512 * 1024;

/** Settings of a statement that may take longer: a header now and then, as a minute without a byte is a failure. */
export const SIGNS_OF_LIFE = { send_progress_in_http_headers: 1, http_headers_progress_interval_ms: '20000' } as const;

const RECOVERIES = { warehouse_unavailable: 'again', warehouse_mismatch: 'wait', warehouse_refused: 'stop' } as const;

/**
 * By what is at fault:
 * - warehouse_unavailable: the server, which did not answer or is overloaded
 * - warehouse_mismatch: the table, which is not there or not as we know it; an operator or a migration makes it so
 * - warehouse_refused: a value, which it will never accept
 */
export class WarehouseError extends Error {
  readonly code: keyof typeof RECOVERIES;
  readonly recovery: (typeof RECOVERIES)[keyof typeof RECOVERIES];

  constructor(code: WarehouseError['code'], message: string) {
    super(message);
    this.code = code;
    this.recovery = RECOVERIES[code];
  }
}

/** A connection to the servers of an address, whose user, password and database are part of the URL. */
export function createWarehouse(address: string): Warehouse {
  const urls = readClickhouseAddress(address);
  const [only, ...others] = urls;
  if (others.length > 0) return connectServers(urls.map(watchServer), randomInt(urls.length));
  const client = connect(only);
  const server = {
    client,
    isAlive: () => true,
    guard: <T>(ask: () => Promise<T>) => ask(),
    close: () => client.close(),
  };
  return connectServers([server], 0);
}

function connect(url: string): ClickHouseClient & Server {
  const { protocol, host } = new URL(url);
  const client = createClient({
    url: `${protocol}//${host}`,
    ...readClickhouseLogin(url),
    request_timeout: REQUEST_TIMEOUT_MS,
    max_response_headers_size: HEADER_BYTES_MAX,
    // The client's own log would print queries and their arguments.
    log: { level: ClickHouseLogLevel.OFF },
    // Long arguments go into the body, because proxies in front of ClickHouse refuse long URLs.
    use_multipart_params_auto: true,
    keep_alive: { enabled: true, idle_socket_ttl: 1_500 },
  });
  return Object.assign(client, { url });
}

function watchServer(url: string): WatchedServer {
  const client = connect(url);
  const pinging = connect(url);
  const { isAlive, guard, stop } = probeWarehouse(pinging);
  return {
    client,
    isAlive,
    guard,
    async close() {
      await stop();
      await Promise.all([client.close(), pinging.close()]);
    },
  };
}

/**
 * Inserts a block once: the same token is the same rows and is dropped when the table has it, views included. All rows
 * have the same fields.
 *
 * @throws WarehouseError
 */
export async function insertBlock(
  warehouse: Pick<Warehouse, 'attempt' | 'insert'>,
  table: string,
  token: string,
  rows: readonly object[],
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  try {
    if (first instanceof ColumnarEvent) {
      const block = nativeBlock(rows as readonly ColumnarEvent[]);
      await warehouse.attempt((server) => insertNative(server, table, token, block));
      return;
    }
  } catch (error) {
    throw readError(error);
  }
  await insertRows(warehouse, table, rows, settingsOf(token));
}

/** Inserts rows that all have the same fields, under settings of the caller's. @throws WarehouseError */
export async function insertRows(
  warehouse: Pick<Warehouse, 'insert'>,
  table: string,
  rows: readonly object[],
  clickhouse_settings: ClickHouseSettings,
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  // The names of the fields are sent once: the server needs a quarter less time than with names in each row.
  const fields = Object.keys(first);
  try {
    await warehouse.insert({
      ...{ table, clickhouse_settings },
      columns: listed(fields) as [string, ...string[]],
      values: rows.map((row) => valuesOf(row, fields)),
      format: 'JSONCompactEachRow',
    });
  } catch (error) {
    throw readError(error);
  }
}

/** Columns cost the server half of what rows cost it; it converts texts and LowCardinality itself. */
async function insertNative(server: Asked, table: string, token: string, block: Buffer): Promise<void> {
  const { stream } = await server.exec({
    query: `INSERT INTO ${table} (${listed(EVENT_COLUMNS).join(', ')}) FORMAT Native`,
    values: Readable.from([block]),
    // A block holds each event once, so merging its rows by key would find nothing, for a sixth of the insert's time.
    clickhouse_settings: { ...settingsOf(token), optimize_on_insert: 0 },
  });
  // The answer has no rows, but its connection is free only after it was read.
  await finished(stream.resume());
}

/** Eighty years. */
const PARTITIONS_MAX = '1000';

function settingsOf(token: string): ClickHouseSettings {
  return {
    // On by default from 26.2 on: blocks would wait for others, to be stored with them.
    async_insert: 0,
    insert_deduplicate: 1,
    insert_deduplication_token: token,
    deduplicate_blocks_in_dependent_materialized_views: 1,
    max_insert_block_size: '1000000',
    // A partition is a month, and events that are brought in from the past may be of any since 2005: ClickHouse's own limit is 100.
    max_partitions_per_insert_block: PARTITIONS_MAX,
    ...ON_SHARDS,
    input_format_parallel_parsing: 0,
    // A field without a column, or a null in a column that has none, is our mistake and must not be dropped silently.
    input_format_skip_unknown_fields: 0,
    input_format_null_as_default: 0,
  };
}

/** Rows are there for whoever asks behind their insert, on a cluster on their shards. */
export const AT_ONCE = { async_insert: 0, distributed_foreground_insert: 1 } as const;

/**
 * On a cluster a table forwards rows to the shards of their keys: the answer comes only when they are there, and what is selected
 * to be inserted is selected from all of them, not by each from its own.
 */
const ON_SHARDS = { distributed_foreground_insert: 1, parallel_distributed_insert_select: '0' } as const;

const listed = (columns: readonly string[]): string[] => columns.map((column) => `\`${column}\``);

function valuesOf(row: object, fields: readonly string[]): unknown[] {
  const values = fields.map((field) => (row as Record<string, unknown>)[field]);
  if (Object.keys(row).length !== fields.length || values.includes(undefined)) {
    throw new Error(`rows of one block differ in their fields: ${Object.keys(row).join(', ')}`);
  }
  return values;
}

/**
 * Codes of server errors (ErrorCodes.cpp) that a value is to blame for: texts that are no number, date, time, bool or UUID,
 * values out of range, too long, or null where none may be.
 */
const OF_ROWS = new Set('6 25 26 27 33 38 41 53 69 70 72 117 131 321 349 376 467 691'.split(' '));

/** Codes that all rows of a table meet: unknown columns, tables and databases, columns of other types, syntax. */
const OF_TABLES = new Set('16 20 43 44 47 60 62 81 218'.split(' '));

/** A failure of the client as our error, without the client's message, which may quote rows. */
export function readError(error: unknown): WarehouseError {
  // Of a server that was found to be away.
  if (error instanceof WarehouseError) return error;
  if (error instanceof ClickHouseError) {
    const { code, type = '' } = error;
    const isOfTable = OF_TABLES.has(code) ? 'warehouse_mismatch' : 'warehouse_unavailable';
    return new WarehouseError(
      OF_ROWS.has(code) ? 'warehouse_refused' : isOfTable,
      `clickhouse: ${code} ${type}`.trim(),
    );
  }
  return new WarehouseError('warehouse_unavailable', `clickhouse: ${error instanceof Error ? error.name : 'error'}`);
}

/** The rows of a SELECT. @throws WarehouseError */
export async function select<Row>(
  warehouse: Pick<Warehouse, 'query'>,
  query: string,
  query_params: Record<string, unknown> = {},
  clickhouse_settings: ClickHouseSettings = {},
): Promise<Row[]> {
  try {
    const result = await warehouse.query({ query, query_params, format: 'JSONEachRow', clickhouse_settings });
    return await result.json<Row>();
  } catch (error) {
    throw readError(error);
  }
}

/** Runs a statement without rows. @throws WarehouseError */
export async function run(
  warehouse: Pick<Warehouse, 'command'>,
  query: string,
  query_params: Record<string, unknown> = {},
  clickhouse_settings: ClickHouseSettings = {},
): Promise<void> {
  try {
    await warehouse.command({ query, query_params, clickhouse_settings: { ...ON_SHARDS, ...clickhouse_settings } });
  } catch (error) {
    throw readError(error);
  }
}

export type WarehouseProbe = ReturnType<typeof probeWarehouse>;

/** A busy server answers a ping far sooner; the ping ends then. */
const PROBE: ProbeTimes = { intervalMs: 2_000, answerMsMax: 5_000 };

/** Watches the ClickHouse server at an address, through a connection that no query uses. */
export function watchWarehouse(clickhouseUrl: string): WarehouseProbe {
  const warehouse = createWarehouse(clickhouseUrl);
  const probe = probeWarehouse(warehouse);
  return {
    ...probe,
    async stop() {
      await probe.stop();
      await warehouse.close();
    },
  };
}

/**
 * Watches a ClickHouse server. It begins as alive, because the first request fails by itself if it is not. The probe needs a
 * client of its own: with a shared one, long queries would take all its connections and make the server seem dead.
 */
export function probeWarehouse(warehouse: Pick<Warehouse, 'ping'>, times = PROBE) {
  const waiting = new Set<(error: WarehouseError) => void>();
  const ping = async (): Promise<void> => {
    const { success } = await warehouse.ping({ select: false, abort_signal: AbortSignal.timeout(times.answerMsMax) });
    if (!success) throw silent();
  };
  const onFailure = (): void => {
    for (const reject of waiting) reject(silent());
  };
  const probe = createProbe(ping, times, { onFailure });
  return {
    isAlive: probe.isAlive,
    /**
     * Resolves to the answer of a request to ClickHouse, or throws as soon as ClickHouse has stopped answering: a server that
     * hangs keeps its connections open, and the request would wait until the client's own timeout.
     *
     * @throws WarehouseError if it has
     */
    async guard<T>(ask: () => Promise<T>): Promise<T> {
      if (!probe.isAlive()) throw silent();
      const dead = Promise.withResolvers<never>();
      waiting.add(dead.reject);
      try {
        return await Promise.race([ask(), dead.promise]);
      } finally {
        waiting.delete(dead.reject);
      }
    },
    stop: async (): Promise<void> => probe.stop(),
  };
}

const silent = (): WarehouseError => new WarehouseError('warehouse_unavailable', 'clickhouse: no answer');
