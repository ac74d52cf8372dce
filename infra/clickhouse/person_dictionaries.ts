// The dictionaries that resolve persons, and when they are reloaded.
import { repeat } from '#infra/concurrency/time_limits.ts';
import type { Logger } from '#infra/log/logger.ts';
import { run, select, type Warehouse } from './client.ts';
import { type Cluster, everywhere } from './cluster.ts';

/** Every merge there was when it was loaded last; it holds most of them, and is loaded again seldom. */
export const BASE_DICTIONARY = 'merged_persons_base';
/** The merges that came since: loaded again after every change, which costs little as it is small. */
export const RECENT_DICTIONARY = 'merged_persons_recent';
/** What says who a person is part of now, in the order in which they are to be loaded. */
export const PERSON_DICTIONARIES = [BASE_DICTIONARY, RECENT_DICTIONARY] as const;

type PersonDictionary = (typeof PERSON_DICTIONARIES)[number];

export interface DictionaryFigures {
  name: PersonDictionary;
  rows: number;
  bytes: number;
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
 * Loads a dictionary again, on all servers. Of a cluster's replicas those load the recent merges that the address names, as long
 * as they answer; others do so by themselves within their lifetime. @throws WarehouseError
 */
export async function reloadDictionary(
  warehouse: Warehouse,
  name: PersonDictionary,
  cluster: Cluster | null = null,
): Promise<void> {
  if (cluster?.isReplicated && name === RECENT_DICTIONARY)
    await Promise.all(warehouse.alive().map((server) => run(server, `SYSTEM RELOAD DICTIONARY ${name}`)));
  else await everywhere(warehouse, cluster, ({ server, on }) => run(server, `SYSTEM RELOAD DICTIONARY${on} ${name}`));
}

/** Loads both again, in the order that misses nothing. @throws WarehouseError */
export async function reloadPersons(warehouse: Warehouse, cluster: Cluster | null = null): Promise<void> {
  for (const name of PERSON_DICTIONARIES) await reloadDictionary(warehouse, name, cluster);
}

/** What the dictionaries hold on the server that answers. @throws WarehouseError */
export async function dictionaryFigures(warehouse: Warehouse): Promise<DictionaryFigures[]> {
  const query = `SELECT name, toFloat64(element_count) AS rows, toFloat64(bytes_allocated) AS bytes,
    toFloat64(dateDiff('second', last_successful_update_time, now())) AS ageSeconds, endsWith(toString(status), 'LOADING') AS isLoading
  FROM system.dictionaries WHERE database = currentDatabase() AND name IN {names:Array(String)}`;
  type Row = Omit<DictionaryFigures, 'isLoading'> & { isLoading: number };
  const rows = await select<Row>(warehouse, query, { names: [...PERSON_DICTIONARIES] });
  return rows.map((row) => ({ ...row, isLoading: Boolean(row.isLoading) }));
}

export type PersonReloader = ReturnType<typeof createPersonReloader>;

export interface ReloadReport {
  reloaded(name: PersonDictionary, seconds: number): void;
  /** From when links were stored until queries know them. */
  delayed(seconds: number): void;
  holds(figures: readonly DictionaryFigures[]): void;
}

interface PersonReloaderOptions {
  warehouse: Warehouse;
  cluster: Cluster | null;
  report: ReloadReport;
  logger: Logger;
  /** Monotonic milliseconds. */
  nowMs(): number;
}

const DELAY_MS = 400;
const RETRY_MS = 2_000;
const WATCH_MS = 60_000;
/** Between two loads at least so many times what the last one took, so that they take half of a core at the most. */
const PAUSES = 1;

/**
 * Loads the recent merges soon after links were stored, and all of them once the recent ones have become many. While all
 * are loaded, which may take a minute, the recent ones go on. A server also loads the recent ones by itself within their
 * lifetime; the embedded server does not.
 */
export function createPersonReloader(options: PersonReloaderOptions) {
  const { warehouse, cluster, report, logger, nowMs } = options;
  const stopWatch = watchBase(options);
  let timer: NodeJS.Timeout | null = null;
  let isReloading = false;
  let isStopped = false;
  let pauseMs = DELAY_MS;
  let changedAtMs: number | null = null;

  function schedule(delayMs: number): void {
    if (timer === null && !isReloading && !isStopped) timer = setTimeout(() => void reload(), delayMs);
  }

  async function reload(): Promise<void> {
    timer = null;
    isReloading = true;
    const [fromMs, sinceMs] = [nowMs(), changedAtMs];
    changedAtMs = null;
    try {
      await reloadDictionary(warehouse, RECENT_DICTIONARY, cluster);
      const tookMs = nowMs() - fromMs;
      pauseMs = Math.max(DELAY_MS, PAUSES * tookMs);
      report.reloaded(RECENT_DICTIONARY, tookMs / 1000);
      if (sinceMs !== null) report.delayed((nowMs() - sinceMs) / 1000);
    } catch (error) {
      if (!isStopped) logger.warn({ err: error }, 'merged persons not loaded, trying again');
      pauseMs = RETRY_MS;
      changedAtMs = sinceMs ?? fromMs;
    }
    isReloading = false;
    if (changedAtMs !== null) schedule(pauseMs);
  }

  schedule(0);
  return {
    /** To be called when links have been stored. */
    changed(): void {
      changedAtMs ??= nowMs();
      schedule(pauseMs);
    },
    stop(): void {
      isStopped = true;
      stopWatch();
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** Looks every minute what the dictionaries hold, and loads the base again where that is due; a failure is told. */
function watchBase({ warehouse, cluster, report, logger, nowMs }: PersonReloaderOptions): () => void {
  async function look(): Promise<void> {
    const figures = await dictionaryFigures(warehouse);
    report.holds(figures);
    if (!isBaseDue(figures)) return;
    const fromMs = nowMs();
    await reloadDictionary(warehouse, BASE_DICTIONARY, cluster);
    report.reloaded(BASE_DICTIONARY, (nowMs() - fromMs) / 1000);
  }

  // A load that takes longer than the request may go on at the server; it is not asked for again meanwhile (isBaseDue).
  const tell = (error: unknown): void => logger.warn({ err: error }, 'base of merged persons not loaded');
  return repeat(look, () => WATCH_MS, tell);
}
