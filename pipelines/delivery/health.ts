/** What the outcomes of one site at one destination come to, as ClickHouse counts them. Times in milliseconds since 1970 UTC. */
export interface HealthRow {
  site_id: string;
  destination: string;
  attempts: number;
  delivered: number;
  diverted: number;
  paused: number;
  /** Events whose newest outcome says that they wait on a lane. */
  waiting: number;
  /** Outcomes. */
  dead: number;
  /** Events of these that are dead still, as their newest outcome says. */
  failed: number;
  /** Events left out, by reason. */
  skipped: Record<string, number>;
  /**
   * Of the newest attempt that was no skip, and no pause that heals by itself, or else of an event that waits; empty where
   * there was neither. What stays paused has no further outcome.
   */
  latest: string;
  latest_reason: string;
  delivered_at: number;
  failed_at: number;
  failed_reason: string;
  took_ms: readonly [p50: number, p99: number];
  age_ms: readonly [p50: number, p99: number];
}

/**
 * - delivering: the newest attempt brought the event there, whatever waits
 * - failing: it did not; the event waits on a lane, or is dead
 * - waits_for_settings: the platform does not take the credentials, or settings are missing
 * - idle: nothing was attempted
 */
export type HealthState = 'delivering' | 'failing' | 'waits_for_settings' | 'idle';

/** Reasons for which an event is paused that heal by themselves. */
export const HEALS: ReadonlySet<string> = new Set(['breaker_open', 'throttled', 'handed_over', 'slow']);

export interface HealthQuestion {
  sinceMs: number;
  /** Since when outcomes are looked at for events that wait: earlier than the longest that an event may wait. */
  waitingSinceMs: number;
  siteId: string | null;
  destination: string | null;
}

export function healthState({ latest, latest_reason }: Pick<HealthRow, 'latest' | 'latest_reason'>): HealthState {
  if (latest === '') return 'idle';
  if (latest === 'delivered') return 'delivering';
  return latest === 'paused' && !HEALS.has(latest_reason) ? 'waits_for_settings' : 'failing';
}
