import type { Logger } from '#infra/log/logger.ts';
import type { Warehouse } from './client.ts';
import {
  BASE_DICTIONARY,
  type DictionaryFigures,
  dictionaryFigures,
  isBaseDue,
  type PersonDictionary,
  RECENT_DICTIONARY,
  reloadDictionary,
} from './person_dictionaries.ts';

/** Keeps the dictionaries of merged persons up to date. */
export interface PersonReloader {
  /** To be called when links have been stored. */
  changed(): void;
  stop(): void;
}

/** Told what happens, for metrics. */
export interface ReloadReport {
  reloaded(name: PersonDictionary, seconds: number): void;
  /** From when links were stored until queries know them. */
  delayed(seconds: number): void;
  holds(figures: readonly DictionaryFigures[]): void;
}

export interface PersonReloaderOptions {
  warehouse: Warehouse;
  cluster: string | null;
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
export function createPersonReloader(options: PersonReloaderOptions): PersonReloader {
  const { warehouse, report, logger, nowMs } = options;
  const watch = watchBase(options);
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
      await reloadDictionary(warehouse, RECENT_DICTIONARY);
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
    changed() {
      changedAtMs ??= nowMs();
      schedule(pauseMs);
    },
    stop() {
      isStopped = true;
      watch.stop();
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** Looks every minute what the dictionaries hold, and loads the base again where that is due; a failure is told. */
function watchBase({ warehouse, cluster, report, logger, nowMs }: PersonReloaderOptions): { stop(): void } {
  let isStopped = false;
  let timer: NodeJS.Timeout;

  async function look(): Promise<void> {
    const figures = await dictionaryFigures(warehouse);
    report.holds(figures);
    if (!isBaseDue(figures)) return;
    const fromMs = nowMs();
    await reloadDictionary(warehouse, BASE_DICTIONARY, cluster);
    report.reloaded(BASE_DICTIONARY, (nowMs() - fromMs) / 1000);
  }

  const wait = (): void => {
    if (!isStopped) timer = setTimeout(() => void look().catch(tell).finally(wait), WATCH_MS);
  };
  // A load that takes longer than the request may go on at the server; it is not asked for again meanwhile (isBaseDue).
  const tell = (error: unknown): void => {
    if (!isStopped) logger.warn({ err: error }, 'base of merged persons not loaded');
  };
  wait();
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
