import type { Logger } from '#infra/log/logger.ts';
import type { Warehouse } from './client.ts';

/** The dictionaries that are made from person_links. */
export const PERSON_DICTIONARIES = ['person_overrides', 'person_hashes'] as const;

/** Reloads dictionaries when the table they are made from has changed. */
export interface Reloader {
  /** To be called when the table has changed. */
  changed(): void;
  stop(): void;
}

const DELAY_MS = 400;
const RETRY_MS = 2_000;

/**
 * Reloads dictionaries soon after their table changed, and not more often than every `DELAY_MS`. A server also reloads them
 * by itself within their lifetime, which is later; the embedded server does not.
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
