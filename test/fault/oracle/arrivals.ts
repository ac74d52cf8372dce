import type { LedgerEntry } from '#services/local/platforms/standin.ts';
import type { Sent } from '../load/steady.ts';
import type { Destination, Platforms } from '../world/platforms.ts';

/** What came of events at one destination. */
export interface Arrivals {
  missing: number;
  /** Events that had more than one effect. */
  doubled: number;
  /** Milliseconds from the edge's answer to the platform's acceptance, of what arrived, sorted. */
  delaysMs: number[];
}

/** Holds what a platform has accepted against what was sent. */
export function arrivalsOf(platforms: Platforms, destination: Destination, sent: readonly Sent[]): Arrivals {
  const byScope = new Map<string, Map<string, LedgerEntry>>();
  for (const entry of platforms[destination].ledger.page(0, Number.MAX_SAFE_INTEGER).events) {
    const known = byScope.get(entry.scope) ?? new Map<string, LedgerEntry>();
    byScope.set(entry.scope, known.set(entry.event_id, entry));
  }
  const entries = sent.map((one) => byScope.get(one.site.scopes[destination])?.get(one.uuid));
  const delaysMs = sent.flatMap(({ acceptedMs }, index) => {
    const entry = entries[index];
    return entry === undefined ? [] : [Math.max(0, entry.first_at - acceptedMs)];
  });
  return {
    missing: entries.filter((entry) => entry === undefined).length,
    doubled: entries.filter((entry) => entry !== undefined && entry.effects > 1).length,
    delaysMs: delaysMs.sort((a, b) => a - b),
  };
}

/** How many of what was sent have not arrived, over several destinations. */
export function missingAt(platforms: Platforms, destinations: readonly Destination[], sent: readonly Sent[]): number {
  return destinations.reduce((sum, name) => sum + arrivalsOf(platforms, name, sent).missing, 0);
}

/** A quantile of sorted values; 0 where there are none. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
