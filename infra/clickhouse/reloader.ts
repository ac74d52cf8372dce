import type { Logger } from '#infra/log/logger.ts';
import type { Warehouse } from './client.ts';

/** Keeps a dictionary current with the table it is made from. */
export interface Reloader {
  /** The table has changed. */
  changed(): void;
  stop(): void;
}

const DELAY_MS = 400;
const RETRY_MS = 2_000;

/**
 * Reloads a dictionary soon after its table changed, at most once in a while however often it is told. A server reloads
 * by itself within the dictionary's lifetime too; the embedded one does not, and this is sooner on both.
 */
export function createReloader(warehouse: Warehouse, dictionary: string, logger: Logger): Reloader {
  let timer: NodeJS.Timeout | null = null;
  let stopped = false;

  function schedule(delayMs: number): void {
    if (timer === null && !stopped) timer = setTimeout(() => void reload(), delayMs);
  }

  async function reload(): Promise<void> {
    timer = null;
    try {
      await warehouse.command({ query: `SYSTEM RELOAD DICTIONARY ${dictionary}` });
    } catch (error) {
      logger.warn({ dictionary, err: error }, 'dictionary not reloaded, trying again');
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
