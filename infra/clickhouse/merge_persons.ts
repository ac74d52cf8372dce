// Rewrites rows of merged and of split persons.
import { insertBlock, SIGNS_OF_LIFE, select, type Warehouse } from './client.ts';
import { alterRows, type Cluster, localTable, ofAllServers } from './cluster.ts';
import { BASE_DICTIONARY, dictionaryFigures, reloadPersons } from './person_dictionaries.ts';

/** Of these that a row's person was merged after the row arrived, and the row does not say so yet. */
const IS_BEHIND = 'actor != person_hash';

/**
 * For how many days a merge is looked up after it was written into all rows. A row with the former person may come as long as
 * a topic has it: 30 days among the dead letters of the warehouse, then nine on the way it is sent again.
 */
export const MERGE_KEPT_DAYS = 45;

const KEPT_SINCE = `toStartOfDay(now('UTC')) - toIntervalDay(${MERGE_KEPT_DAYS})`;

const LATELY_SECONDS = 300;

interface NightlyMerge {
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
export async function mergeNightly(warehouse: Warehouse, cluster: Cluster | null = null): Promise<NightlyMerge> {
  const splitRows = await correctSplitRows(warehouse, cluster);
  const days = await dropAppliedMerges(warehouse, cluster);
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
  cluster: Cluster | null = null,
): Promise<Pick<NightlyMerge, 'rows' | 'months'>> {
  const behind = await selectLong<{ month: number; found: number }>(
    warehouse,
    `SELECT toYYYYMM(timestamp) AS month, count() AS found FROM event_rows WHERE ${IS_BEHIND} GROUP BY month ORDER BY month`,
  );
  const rows = behind.reduce((sum, { found }) => sum + Number(found), 0);
  if (rows === 0 || (await isRewriting(warehouse, cluster))) return { rows, months: 0 };
  for (const { month } of behind) {
    // The server considers a dictionary nondeterministic, but every replica has the same links.
    const change = `UPDATE arrived_person_id = person_id IN PARTITION ${month} WHERE ${IS_BEHIND}`;
    const settings = 'SETTINGS allow_nondeterministic_mutations = 1';
    await alterRows(warehouse, cluster, 'event_rows', `${change} ${settings}`, SIGNS_OF_LIFE);
  }
  return { rows, months: behind.length };
}

/**
 * Drops old days of merges that no row needs any more, from the oldest to the first day that one still needs: if a day
 * between were dropped, an older change of a person would count again. Resolves to the days. @throws WarehouseError
 */
export async function dropAppliedMerges(warehouse: Warehouse, cluster: Cluster | null = null): Promise<string[]> {
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
    await alterRows(warehouse, cluster, 'merged_persons', `DROP PARTITION '${day}'`, SIGNS_OF_LIFE);
  }
  return forgotten;
}

/** Whether another process of the warehouse has had all loaded this very night. */
async function isLoadedLately(warehouse: Warehouse): Promise<boolean> {
  const base = (await dictionaryFigures(warehouse)).find(({ name }) => name === BASE_DICTIONARY);
  return base !== undefined && (base.isLoading || base.ageSeconds < LATELY_SECONDS);
}

async function isRewriting(warehouse: Warehouse, cluster: Cluster | null): Promise<boolean> {
  const [running] = await selectLong<{ mutations: number }>(
    warehouse,
    `SELECT count() AS mutations FROM ${ofAllServers('system.mutations', cluster)} WHERE database = currentDatabase()
     AND table = '${localTable('event_rows', cluster)}' AND NOT is_done AND command LIKE '%UPDATE arrived_person_id%'`,
  );
  return Number(running?.mutations ?? 0) > 0;
}

export interface RowSplit {
  site_id: string;
  /** Persons as derived from distinct ids. */
  moved: string[];
  stayed: string[];
  person_id: string;
  former_person_id: string;
  version: number;
  /** Milliseconds since 1970 UTC. */
  split_at: number;
}

/** For how long rows are given to those who were split: longer than any topic holds an event that was resolved before, dead letters among them. */
export const CORRECTED_DAYS = 45;
const ID = /^[\w-]+$/;
/** The person that a distinct id stands for by itself: pipelines/identity/identity.ts has the same. */
const BASE = "concat('p_', lower(hex(substring(SHA256(concat(site_id, '\\n', distinct_id)), 1, 16))))";

/** Rows that have a person of the other side, of events that arrived before the split. */
function isWrong({ site_id, moved, stayed, split_at }: RowSplit): string {
  const both = listed([...moved, ...stayed]);
  return `site_id = ${listed([site_id])} AND arrived_person_id IN (${both}) AND (${BASE} IN (${both}))
    AND (${BASE} IN (${listed(moved)})) != (arrived_person_id IN (${listed(moved)}))
    AND received_at < fromUnixTimestamp64Milli(toInt64(${split_at}), 'UTC')`;
}

/** In the place of parameters, which a mutation does not take. */
export function listed(ids: readonly string[]): string {
  if (!ids.every((id) => ID.test(id))) throw new Error('a person or a site has an id of another shape');
  return ids.map((id) => `'${id}'`).join(', ');
}

/** How many rows a split changes. @throws WarehouseError */
export async function countSplitRows(warehouse: Warehouse, split: RowSplit): Promise<number> {
  const [counted] = await selectLong<{ found: number }>(
    warehouse,
    `SELECT count() AS found FROM event_rows WHERE ${isWrong(split)}`,
  );
  return Number(counted?.found ?? 0);
}

/** Notes a split, whose rows `correctSplitRows` changes then and later. @throws WarehouseError */
export function storeSplit(warehouse: Warehouse, split: RowSplit): Promise<void> {
  return insertBlock(warehouse, 'person_splits', `${split.site_id}/${split.person_id}/${split.split_at}`, [split]);
}

/**
 * Gives the rows of people who were split their persons, in place. Who became one with the others again is left as they
 * are. Resolves to how many rows had another. @throws WarehouseError
 */
export async function correctSplitRows(warehouse: Warehouse, cluster: Cluster | null = null): Promise<number> {
  const splits = await selectLong<RowSplit>(
    warehouse,
    `SELECT site_id, moved, stayed, person_id, former_person_id, version, toUnixTimestamp64Milli(splits.split_at) AS split_at
     FROM person_splits AS splits
     GLOBAL LEFT JOIN (
       SELECT site_id, person_id, max(version) AS newest, argMax(target, version) AS part_of
       FROM person_links WHERE (site_id, person_id) GLOBAL IN (SELECT site_id, person_id FROM person_splits)
       GROUP BY site_id, person_id
     ) AS links USING (site_id, person_id)
     WHERE splits.split_at > now64(3) - toIntervalDay(${CORRECTED_DAYS}) AND NOT (newest > version AND part_of != person_id)`,
  );
  let rows = 0;
  for (const split of splits) {
    const found = await countSplitRows(warehouse, split);
    rows += found;
    if (found > 0) {
      const side = `if(${BASE} IN (${listed(split.moved)}), ${listed([split.person_id])}, ${listed([split.former_person_id])})`;
      const change = `UPDATE arrived_person_id = ${side} WHERE ${isWrong(split)}`;
      await alterRows(warehouse, cluster, 'event_rows', change, SIGNS_OF_LIFE);
    }
  }
  return rows;
}

/** These statements may take minutes. */
const selectLong = <Row>(warehouse: Warehouse, query: string): Promise<Row[]> =>
  select(warehouse, query, {}, SIGNS_OF_LIFE);
