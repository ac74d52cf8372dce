import type { ClickHouseSettings } from '@clickhouse/client';

/** Up to so many rows a query is a small one. */
const SMALL_ROWS = 1_000_000;
/** From one level to the next a query reads so many times the rows. */
const GROWTH = 4;
const LEVELS = 5;
/** Of the scheduler of the kernel; where ClickHouse lacks CAP_SYS_NICE it does nothing. */
const NICE_A_LEVEL = 4;
/** What a query has that gives way: it goes on for a moment after so long, so that none stands still for ever. */
const GIVING_WAY_MS = 200;

/** How much a query gives way to others that read less; the last level: what an analyst writes, of which nobody knows. */
type Level = number;
const ANY: Level = LEVELS - 1;

/** The level of a query by the rows that it reads; null: nobody knows. */
export function levelOf(rows: number | null): Level {
  if (rows === null) return Math.floor(ANY / 2);
  if (rows <= SMALL_ROWS) return 0;
  return Math.min(ANY, Math.ceil(Math.log(rows / SMALL_ROWS) / Math.log(GROWTH)));
}

/**
 * Settings by which a query gives way to others. ClickHouse holds up the reading of a query while one of a higher priority
 * runs, and the kernel gives its threads the time that others leave.
 */
export function workloadOf(level: Level): Workload {
  return {
    priority: level + 1,
    low_priority_query_wait_time_ms: GIVING_WAY_MS,
    os_threads_nice_value_query: level * NICE_A_LEVEL,
  };
}

/** As settings of a query, or of a user's profile. */
export interface Workload {
  priority: number;
  low_priority_query_wait_time_ms: number;
  os_threads_nice_value_query: number;
}

/** Of SQL that analysts write. */
export const SQL_WORKLOAD: Workload = workloadOf(ANY);

/** As the client takes them: a setting that it has no name for yet is sent as the others are. */
export const settingsOf = (workload: Workload): ClickHouseSettings =>
  Object.fromEntries(Object.entries(workload).map(([name, value]) => [name, String(value)]));
