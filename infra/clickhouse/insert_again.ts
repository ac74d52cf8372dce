import { hash, randomUUID } from 'node:crypto';
import { insertBlock, readError, type Warehouse } from './client.ts';
import { identityOf, isLookedFor, partOf, type Row, storedRows } from './stored_rows.ts';

/** Limits the attempts, for a server that is killed at the same moment of every one of them. */
const TRIES_MAX = 4;

/** What became of the rows of a block. */
export interface TakenUp {
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
export async function insertBlockAgain(
  warehouse: Warehouse,
  table: string,
  token: string,
  rows: readonly Row[],
  progressed: () => void = () => undefined,
): Promise<TakenUp> {
  if (!isLookedFor(table)) {
    await insertBlock(warehouse, table, `${token}/${randomUUID()}`, rows);
    return { sentAgain: 0, gone: 0 };
  }
  const found = await storedRows(warehouse, table, rows, progressed);
  const sentAgain = found.elsewhere.length;
  // While the table knows the token, it drops the rows it has, and a view that lacks them still gets them.
  const [known] = found.there;
  const whole = known !== undefined && (await knowsToken(warehouse, table, known));
  await insertBlock(warehouse, table, token, whole ? without(rows, found.elsewhere) : found.missing);
  let { missing } = await storedRows(warehouse, table, found.missing, progressed);
  for (let tries = 1; tries <= TRIES_MAX && missing.length > 0; tries++) {
    // The digest makes two processes that find the same rows missing insert them once.
    const digest = hash('sha256', missing.map((row) => identityOf(table, row)).join('\n'));
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
): Promise<TakenUp> {
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

interface Tokens {
  engine: string;
  /** How many tokens the table keeps. */
  kept: number;
  newest: number | string;
}

/**
 * Whether the table certainly knows the token of a row it has, and will in a moment: fewer blocks came since than half of the
 * tokens that it keeps. A part is named by its first and its last block, so a row in a merged part seems older than it is.
 * Tables of a cluster keep tokens for as long as there can be plans (`cluster.ts`).
 */
async function knowsToken(warehouse: Warehouse, table: string, row: Row): Promise<boolean> {
  const query = `SELECT engine, toUInt32OrZero(extract(engine_full, 'non_replicated_deduplication_window = (\\d+)')) AS kept,
      (SELECT max(max_block_number) FROM system.parts WHERE database = currentDatabase() AND table = {table:String} AND active) AS newest
    FROM system.tables WHERE database = currentDatabase() AND name = {table:String}`;
  try {
    const asked = await warehouse.query({ query, query_params: { table }, format: 'JSONEachRow' });
    const [tokens] = await asked.json<Tokens>();
    if (tokens === undefined) return false;
    if (!tokens.engine.endsWith('MergeTree') || tokens.engine.startsWith('Replicated')) return true;
    const [, block] = /^[^_]+_(\d+)_/.exec((await partOf(warehouse, table, row)) ?? '') ?? [];
    return block !== undefined && 2 * (Number(tokens.newest) - Number(block)) < tokens.kept;
  } catch (error) {
    throw readError(error);
  }
}
