import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { putNewest } from '#pipelines/delivery/put_newest.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Destination } from '#schemas/setting.ts';
import type { Runtime } from '#services/runtime.ts';
import type { LanePasses } from './lane_passes.ts';

/**
 * What makes events that wait on lanes due before their time: a change of their site's settings, as this process has seen it, and
 * that the site's destination takes events again after it was in trouble. Milliseconds since 1970 UTC.
 */
export interface Releases {
  /** Whether an event is due at once that waits since then. */
  isReleased(siteId: string, waitsSinceMs: number, isPaused: boolean): boolean;
  /** The site's destination takes events again. */
  returned(siteId: string, nowMs: number): void;
  /** Looks whether settings changed; whether lanes that rest are to be read, as what was released may lie there. */
  look(nowMs: number): boolean;
}

export interface ReleaseOptions {
  table: Pick<SettingsTable, 'destinationsNamed'>;
  destination: string;
  /** Whether nothing is to be asked of the site's destination now. */
  isInTrouble(siteId: string): boolean;
  passes: Pick<LanePasses, 'released' | 'look'>;
  beganMs: number;
}

/** Sites whose return is remembered at the most; what waits for one that is forgotten is due at its own time. */
const RETURNS_MAX = 100_000;

/**
 * Watches the settings of one destination, and is told of returns. What came before the watch is not known, so that its
 * beginning counts as the return of all: what is paused is tried once then.
 */
export function watchReleases({ table, destination, isInTrouble, passes, beganMs }: ReleaseOptions): Releases {
  let seen = new Map<string, Destination>(table.destinationsNamed(destination));
  const changes = new Map<string, number>();
  const returns = new Map<string, number>();
  return {
    isReleased(siteId, waitsSinceMs, isPaused) {
      if (waitsSinceMs === 0) return false;
      if (waitsSinceMs < (changes.get(siteId) ?? 0)) return true;
      return waitsSinceMs < (returns.get(siteId) ?? (isPaused ? beganMs : 0)) && !isInTrouble(siteId);
    },
    returned(siteId, nowMs) {
      putNewest(returns, siteId, nowMs, RETURNS_MAX);
      passes.released(siteId, nowMs);
    },
    look(nowMs) {
      const now = table.destinationsNamed(destination);
      const changed = [...now.keys()].filter((siteId) => seen.get(siteId) !== now.get(siteId));
      for (const siteId of changed) {
        changes.set(siteId, nowMs);
        passes.released(siteId, nowMs);
      }
      if (changed.length > 0) seen = new Map(now);
      return passes.look(nowMs);
    },
  };
}

/** How soon a release brings what waits for it. */
const RELEASES_POLL_MS = 500;

/** Looks for releases until the process stops; after one, what waits for a time is looked at again. */
export function retryOnRelease(
  { onStop }: Pick<Runtime, 'onStop'>,
  releases: Pick<Releases, 'look'>,
  consumption: Pick<Consumption, 'wake'>,
): void {
  const looking = setInterval(() => {
    if (releases.look(Date.now())) consumption.wake();
  }, RELEASES_POLL_MS);
  onStop(async () => clearInterval(looking));
}
