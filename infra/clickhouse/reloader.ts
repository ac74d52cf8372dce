import type { Logger } from '#infra/log/logger.ts';
import type { Warehouse } from './client.ts';

/** What is made from person_links. */
export const PERSON_DICTIONARIES = ['person_overrides', 'person_hashes'] as const;

/** Keeps dictionaries current with the table they are made from. */
export interface Reloader {
  /** The table has changed. */
  changed(): void;
  stop(): void;
}

const DELAY_MS = 400;
const RETRY_MS = 2_000;

/**
 * Reloads dictionaries soon after their table changed, at most once in a while however often it is told. A server reloads
 * by itself within their lifetime too; the embedded one does not, and this is sooner on both.
 */
export function createReloader(warehouse: Warehouse, dictionaries: readonly string[], logger: Logger): Reloader {
  let timer: NodeJS.Timeout | null = null;
  let stopped = false;

  function schedule(delayMs: number): void {
    if (timer === null && !stopped) timer = setTimeout(() => void reload(), delayMs);
  }

  async function reload(): Promise<void> {
    timer = null;
    try {
      for (const name of dictionaries) await warehouse.command({ query: `SYSTEM RELOAD DICTIONARY ${name}` });
    } catch (error) {
      logger.warn({ dictionaries, err: error }, 'dictionaries not reloaded, trying again');
      schedule(RETRY_MS);
    }
  }

  schedule(0);
  return {
    changed: () => schedule(DELAY_MS),
    stop() {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
