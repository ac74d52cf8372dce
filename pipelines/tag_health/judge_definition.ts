import { DAY_MS, HOUR_MS } from './notes.ts';

/** What is remembered of an event definition's firing. */
export interface FiredRecord {
  /** How often it fired since it is watched. */
  count: number;
  lastMs: number;
  /** Mean time between two of its recent firings. */
  gapMs: number;
}

/**
 * `firing`: as usual, or too seldom so far to know what is usual. `quiet`: not for longer than usual. `stopped`: so much
 * longer that no night or weekend explains it.
 */
export type DefinitionState = 'firing' | 'quiet' | 'stopped' | 'never_fired';

/** Firings after which a gap between them is known. */
const FIRED_MIN = 5;
const QUIET_GAPS = 3;
const STOPPED_GAPS = 10;

/** How an event definition does. The clock in milliseconds since 1970 UTC. */
export function definitionState(fired: FiredRecord | undefined, nowMs: number): DefinitionState {
  if (fired === undefined) return 'never_fired';
  if (fired.count < FIRED_MIN) return 'firing';
  const silentMs = nowMs - fired.lastMs;
  if (silentMs > Math.max(STOPPED_GAPS * fired.gapMs, DAY_MS)) return 'stopped';
  return silentMs > Math.max(QUIET_GAPS * fired.gapMs, HOUR_MS) ? 'quiet' : 'firing';
}
