import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Destination } from '#schemas/setting.ts';
import type { Runtime } from '#services/runtime.ts';

/** When the settings of sites for one destination last changed, as this process has seen it. */
export interface SettingChanges {
  /** Looks again; whether anything changed since the last look. */
  look(nowMs: number): boolean;
  /** Milliseconds since 1970 UTC; the beginning of the watch for a site of which no change was seen. */
  changedMs(siteId: string): number;
}

/**
 * Watches the settings of one destination. What changed before the watch is not known, so that its beginning counts as
 * a change: what waits for settings is tried once then.
 */
export function watchSettingChanges(
  table: Pick<SettingsTable, 'destinationsNamed'>,
  destination: string,
  beganMs: number,
): SettingChanges {
  let seen = new Map<string, Destination>(table.destinationsNamed(destination));
  const changes = new Map<string, number>();
  return {
    look(nowMs) {
      const now = table.destinationsNamed(destination);
      const changed = [...now.keys()].filter((siteId) => seen.get(siteId) !== now.get(siteId));
      for (const siteId of changed) changes.set(siteId, nowMs);
      if (changed.length > 0) seen = new Map(now);
      return changed.length > 0;
    },
    changedMs: (siteId) => changes.get(siteId) ?? beganMs,
  };
}

/** How soon a change of settings brings what waits for it. */
const CHANGES_POLL_MS = 500;

/** Looks for changes until the process stops; after one, what waits for a time is looked at again. */
export function retryPausedOnChange(
  { onStop }: Pick<Runtime, 'onStop'>,
  changes: Pick<SettingChanges, 'look'>,
  consumption: Pick<Consumption, 'wake'>,
): void {
  const looking = setInterval(() => {
    if (changes.look(Date.now())) consumption.wake();
  }, CHANGES_POLL_MS);
  onStop(async () => clearInterval(looking));
}
