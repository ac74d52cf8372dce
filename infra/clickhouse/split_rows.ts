import { insertBlock, runLong, selectLong, type Warehouse } from './client.ts';
import { alteredTable } from './cluster.ts';

/** Who was taken out of whom. */
export interface RowSplit {
  site_id: string;
  /** Persons as derived from distinct ids. */
  moved: string[];
  stayed: string[];
  person_id: string;
  former_person_id: string;
  /** Of the links that say so. */
  version: number;
  /** Milliseconds since 1970 UTC. */
  split_at: number;
}

/** Longer than any topic holds an event that was resolved before, dead letters among them. */
const CORRECTED_DAYS = 45;
const ID = /^[\w-]+$/;
/** The person that a distinct id stands for by itself: pipelines/identity/resolve.ts has the same. */
const BASE = "concat('p_', lower(hex(substring(SHA256(concat(site_id, '\\n', distinct_id)), 1, 16))))";

/** Rows that have a person of the other side, of events that arrived before the split. */
function isWrong({ site_id, moved, stayed, split_at }: RowSplit): string {
  const both = listed([...moved, ...stayed]);
  return `site_id = ${listed([site_id])} AND arrived_person_id IN (${both}) AND (${BASE} IN (${both}))
    AND (${BASE} IN (${listed(moved)})) != (arrived_person_id IN (${listed(moved)}))
    AND received_at < fromUnixTimestamp64Milli(toInt64(${split_at}), 'UTC')`;
}

/** In the place of parameters, which a mutation does not take. */
function listed(ids: readonly string[]): string {
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
 * Gives the rows of people who were split their persons, in place. Who became one with the others again is left as they are. Resolves to
 * how many rows had another. @throws WarehouseError
 */
export async function correctSplitRows(warehouse: Warehouse, cluster: string | null = null): Promise<number> {
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
      await runLong(
        warehouse,
        `ALTER TABLE ${alteredTable('event_rows', cluster)}
         UPDATE arrived_person_id = if(${BASE} IN (${listed(split.moved)}), ${listed([split.person_id])}, ${listed([split.former_person_id])})
         WHERE ${isWrong(split)}`,
      );
    }
  }
  return rows;
}
