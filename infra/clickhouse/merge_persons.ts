import { runLong, selectLong, type Warehouse } from './client.ts';
import { alteredTable, localTable } from './cluster.ts';
import { BASE_DICTIONARY, dictionaryFigures, reloadPersons } from './person_dictionaries.ts';
import { correctSplitRows } from './split_rows.ts';

/** Of these that a row's person was merged after the row arrived, and the row does not say so yet. */
const IS_BEHIND = 'actor != person_hash';

/**
 * For how many days a merge is looked up after it was written into all rows. A row with the former person may come as long as
 * a topic has it: 30 days among the dead letters of the warehouse, then nine on the way it is sent again.
 */
export const MERGE_KEPT_DAYS = 45;

const KEPT_SINCE = `toStartOfDay(now('UTC')) - toIntervalDay(${MERGE_KEPT_DAYS})`;

const LATELY_SECONDS = 300;

/** What a night's merging did. */
export interface NightlyMerge {
  /** Rows whose person was merged since the night before. */
  rows: number;
  /** Months of rows that have such, and are rewritten; 0 beside rows: an earlier rewriting is still under way. */
  months: number;
  /** Days of links that are looked up no more. */
  daysForgotten: number;
  /** Rows of people who were split that had still come with the former person. */
  splitRows: number;
}

/**
 * What is done every night: forgets merges that all rows know, loads the dictionaries again, and writes newer merges into
 * the rows. @throws WarehouseError
 */
export async function mergeNightly(warehouse: Warehouse, cluster: string | null = null): Promise<NightlyMerge> {
  const splitRows = await correctSplitRows(warehouse, cluster);
  const days = await forgetMerges(warehouse, cluster);
  if (!(await isLoadedLately(warehouse))) await reloadPersons(warehouse, cluster);
  const { rows, months } = await mergePersons(warehouse, cluster);
  return { rows, months, daysForgotten: days.length, splitRows };
}

/**
 * Updates the person of rows whose person was merged after they arrived, in the months that have such rows; others are not
 * rewritten. The view `events` shows the same before and after. The merges stay, because rows with the former person may
 * still come. Resolves to how many rows had a former person. @throws WarehouseError
 */
export async function mergePersons(
  warehouse: Warehouse,
  cluster: string | null = null,
): Promise<Pick<NightlyMerge, 'rows' | 'months'>> {
  const behind = await selectLong<{ month: number; found: number }>(
    warehouse,
    `SELECT toYYYYMM(timestamp) AS month, count() AS found FROM event_rows WHERE ${IS_BEHIND} GROUP BY month ORDER BY month`,
  );
  const rows = behind.reduce((sum, { found }) => sum + Number(found), 0);
  if (rows === 0 || (await isRewriting(warehouse, cluster))) return { rows, months: 0 };
  for (const { month } of behind) {
    // The server considers a dictionary nondeterministic, but every replica has the same links.
    await runLong(
      warehouse,
      `ALTER TABLE ${alteredTable('event_rows', cluster)} UPDATE arrived_person_id = person_id IN PARTITION ${month}
       WHERE ${IS_BEHIND} SETTINGS allow_nondeterministic_mutations = 1`,
    );
  }
  return { rows, months: behind.length };
}

/**
 * Drops old days of merges that no row needs any more, from the oldest to the first day that one still needs: if a day
 * between were dropped, an older change of a person would count again. Resolves to the days. @throws WarehouseError
 */
export async function forgetMerges(warehouse: Warehouse, cluster: string | null = null): Promise<string[]> {
  const old = `SELECT DISTINCT toString(toDate(changed_at)) AS day FROM merged_persons WHERE changed_at < ${KEPT_SINCE}`;
  const days = (await selectLong<{ day: string }>(warehouse, `${old} ORDER BY day`)).map(({ day }) => day);
  if (days.length === 0) return [];
  const needed = await selectLong<{ day: string }>(
    warehouse,
    `${old} AND key GLOBAL IN (SELECT person_key FROM event_rows WHERE ${IS_BEHIND}) ORDER BY day LIMIT 1`,
  );
  const [first] = needed;
  const forgotten = first === undefined ? days : days.filter((day) => day < first.day);
  for (const day of forgotten) {
    await runLong(warehouse, `ALTER TABLE ${alteredTable('merged_persons', cluster)} DROP PARTITION '${day}'`);
  }
  return forgotten;
}

/** Whether another process of the warehouse has had all loaded this very night. */
async function isLoadedLately(warehouse: Warehouse): Promise<boolean> {
  const base = (await dictionaryFigures(warehouse)).find(({ name }) => name === BASE_DICTIONARY);
  return base !== undefined && (base.isLoading || base.ageSeconds < LATELY_SECONDS);
}

async function isRewriting(warehouse: Warehouse, cluster: string | null): Promise<boolean> {
  const [running] = await selectLong<{ mutations: number }>(
    warehouse,
    `SELECT count() AS mutations FROM system.mutations WHERE database = currentDatabase()
     AND table = '${localTable('event_rows', cluster)}' AND NOT is_done AND command LIKE '%UPDATE arrived_person_id%'`,
  );
  return Number(running?.mutations ?? 0) > 0;
}
