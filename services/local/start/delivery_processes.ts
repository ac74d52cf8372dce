import type { SettingsTable } from '#pipelines/settings/table.ts';

export interface DeliveriesOptions {
  table: Pick<SettingsTable, 'destinations'>;
  /** Names of the destinations that may run. */
  wanted: readonly string[];
  /** Those that run though no site may have them yet. */
  always: readonly string[];
  /** Resolves when the processes of the destinations are ready. */
  start(names: readonly string[]): Promise<void>;
}

export interface Deliveries {
  /** Starts the delivery of each destination that some site has by now and that does not run yet. */
  startConfigured(): Promise<void>;
}

/**
 * Delivery processes as they are needed: a destination that no site has takes no memory on a small machine. One that
 * was started runs on, as its lanes may hold events.
 */
export function createDeliveries({ table, wanted, always, start }: DeliveriesOptions): Deliveries {
  const started = new Set<string>();
  return {
    async startConfigured() {
      const configured = new Set([...always, ...table.destinations().map(({ name }) => name)]);
      const names = wanted.filter((name) => configured.has(name) && !started.has(name));
      for (const name of names) started.add(name);
      if (names.length > 0) await start(names);
    },
  };
}
