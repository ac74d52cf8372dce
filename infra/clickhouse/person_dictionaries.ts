import { readError, type Warehouse } from './client.ts';

/** Every merge there was when it was loaded last; it holds most of them, and is loaded again seldom. */
export const BASE_DICTIONARY = 'merged_persons_base';
/** The merges that came since: loaded again after every change, which costs little as it is small. */
export const RECENT_DICTIONARY = 'merged_persons_recent';
/** What says who a person is part of now, in the order in which they are to be loaded. */
export const PERSON_DICTIONARIES = [BASE_DICTIONARY, RECENT_DICTIONARY] as const;

export type PersonDictionary = (typeof PERSON_DICTIONARIES)[number];

export interface DictionaryFigures {
  name: PersonDictionary;
  rows: number;
  bytes: number;
  /** Since it was loaded last. */
  ageSeconds: number;
  isLoading: boolean;
}

/** Below this, loading the recent merges again costs too little to load all. */
const RECENT_ROWS_MIN = 50_000;

/**
 * Loading all costs in proportion to the base, loading the recent ones each time in proportion to how many there may be. At
 * a steady rate the sum is least where that grows as the root of the base: 106,000 at 50 million.
 */
const RECENT_ROWS_BY_ROOT = 15;

/** The base is not loaded again sooner: the recent merges go back five minutes behind it, so they would hardly be fewer. */
const BASE_AGE_SECONDS_MIN = 600;

/** Whether the recent merges have become so many that they should go into the base. */
export function isBaseDue(figures: readonly DictionaryFigures[]): boolean {
  const base = figures.find(({ name }) => name === BASE_DICTIONARY);
  const recent = figures.find(({ name }) => name === RECENT_DICTIONARY);
  if (base === undefined || recent === undefined || base.isLoading || base.ageSeconds < BASE_AGE_SECONDS_MIN)
    return false;
  return recent.rows > Math.max(RECENT_ROWS_MIN, RECENT_ROWS_BY_ROOT * Math.sqrt(base.rows));
}

/**
 * Loads a dictionary again. Those of a cluster's other servers load the recent merges by themselves within their lifetime;
 * the base, which has none, is loaded on all of them. @throws WarehouseError
 */
export async function reloadDictionary(
  warehouse: Warehouse,
  name: PersonDictionary,
  cluster: string | null = null,
): Promise<void> {
  const everywhere = cluster !== null && name === BASE_DICTIONARY ? `ON CLUSTER '${cluster}' ` : '';
  try {
    await warehouse.command({ query: `SYSTEM RELOAD DICTIONARY ${everywhere}${name}` });
  } catch (error) {
    throw readError(error);
  }
}

/** Loads both again, in the order that misses nothing. @throws WarehouseError */
export async function reloadPersons(warehouse: Warehouse, cluster: string | null = null): Promise<void> {
  for (const name of PERSON_DICTIONARIES) await reloadDictionary(warehouse, name, cluster);
}

/** What the dictionaries hold on the server that answers. @throws WarehouseError */
export async function dictionaryFigures(warehouse: Warehouse): Promise<DictionaryFigures[]> {
  const query = `SELECT name, toFloat64(element_count) AS rows, toFloat64(bytes_allocated) AS bytes,
    toFloat64(dateDiff('second', last_successful_update_time, now())) AS ageSeconds, endsWith(toString(status), 'LOADING') AS isLoading
  FROM system.dictionaries WHERE database = currentDatabase() AND name IN {names:Array(String)}`;
  try {
    const asked = await warehouse.query({
      query,
      query_params: { names: [...PERSON_DICTIONARIES] },
      format: 'JSONEachRow',
    });
    const rows = await asked.json<Omit<DictionaryFigures, 'isLoading'> & { isLoading: number }>();
    return rows.map((row) => ({ ...row, isLoading: Boolean(row.isLoading) }));
  } catch (error) {
    throw readError(error);
  }
}
