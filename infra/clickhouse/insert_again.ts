import { hash, randomUUID } from 'node:crypto';
import { insertBlock, readError, type Warehouse } from './client.ts';
import { identityOf, isLookedFor, partOf, type Row, storedRows } from './stored_rows.ts';

/** A server that is killed again and again in the same moment of the same block. */
const TRIES_MAX = 4;

/** What became of the rows of a block that was taken up. */
export interface TakenUp {
  /** Events that were stored before they were sent again: the first stays. */
  sentAgain: number;
  /** Did not stay all the same, as rows that are older than the table keeps any may not. */
  gone: number;
}

/**
 * Inserts a block that may have been inserted before; the same token is the same rows. The token alone cannot be believed:
 * the table forgets it after its window, and a server that is killed in the middle of an insert may have written it down and
 * not the part (measured: 2 of 40 kills under a steady stream of inserts). So the rows are looked for first, and those that
 * are not there go in; then again, under tokens of their own.
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
  // Where the token is known yet, the table drops the rows that it has, and a view that lacks them gets them.
  const [known] = found.there;
  const whole = known !== undefined && (await knowsToken(warehouse, table, known));
  await insertBlock(warehouse, table, token, whole ? without(rows, found.elsewhere) : found.missing);
  let { missing } = await storedRows(warehouse, table, found.missing, progressed);
  for (let tries = 1; tries <= TRIES_MAX && missing.length > 0; tries++) {
    // Two members that find the same rows missing are to insert them once.
    const digest = hash('sha256', missing.map((row) => identityOf(table, row)).join('\n'));
    await insertBlock(warehouse, table, `${token}/again ${tries} ${digest}`, missing);
    ({ missing } = await storedRows(warehouse, table, missing, progressed));
  }
  return { sentAgain, gone: missing.length };
}

/** Inserts a block for the first time; of events that came late those stay away that are there. @throws WarehouseError */
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
  /** How many the table keeps. */
  kept: number;
  newest: number | string;
}

/**
 * Whether the token is certainly known, and will be in a moment, under which a row went in that is there: of the tokens that
 * the table keeps not half went to blocks that came since. A part is named by its first and its last block, so what merged meanwhile seems older than it is. Tables of
 * a cluster keep tokens for as long as there can be plans (`cluster.ts`).
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
