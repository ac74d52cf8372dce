import { createBinder, type Statement } from './statement.ts';

/** Attempts of which destination, and how many. */
interface NewestAttempts {
  siteId: string;
  destination: string;
  /** Only those with this outcome; null: all but events that were left out on purpose. */
  outcome: string | null;
  /** Milliseconds since 1970 UTC. */
  sinceMs: number;
  limit: number;
}

/** The statement of the newest attempts to deliver events of a site to a destination, in the order of the table's key. Rows: NewestAttemptRow. */
export function newestAttemptsStatement(asked: NewestAttempts): Statement {
  const { siteId, destination, outcome, sinceMs, limit } = asked;
  const { bind, statement } = createBinder();
  const chosen = outcome === null ? `outcome != 'skipped'` : `outcome = ${bind(outcome, 'String')}`;
  return statement(`SELECT event_id, event, attempt, toUnixTimestamp64Milli(attempted_at) AS attempted,
  outcome, reason, took_ms, answer_status, answer
FROM delivery_outcomes
WHERE site_id = ${bind(siteId, 'String')} AND destination = ${bind(destination, 'String')}
  AND attempted_at >= fromUnixTimestamp64Milli(${bind(sinceMs, 'Int64')}) AND ${chosen}
ORDER BY attempted_at DESC, attempt DESC LIMIT ${bind(limit, 'UInt32')}`);
}
