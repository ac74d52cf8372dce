// Rows of before ids that are UUIDs were stored as numbers (migration 0015_uuids).
import { SIGNS_OF_LIFE, select, type Warehouse } from '../client.ts';

/** What arrived earlier and is inserted only now was read again, or has waited. */
const READ_AGAIN_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** How long an answer holds: a warehouse of the version before may write on beside this one. */
const HOLDS_MS = 600_000;

interface Arrived {
  received_at: number;
}

/**
 * Tells of events that are inserted long after they arrived whether they may stand in the table with their ids as texts. As numbers they
 * would stand there a second time, as neither the sort key nor a digest tells that they are the same. A day of arrivals is asked for once;
 * of what has just arrived nothing is asked. Throws WarehouseError.
 */
export function createUuidTexts(warehouse: Warehouse, nowMs: () => number) {
  const days = new Map<number, { askedMs: number; answer: Promise<boolean> }>();

  function mayHave(day: number): Promise<boolean> {
    const known = days.get(day);
    if (known !== undefined && nowMs() - known.askedMs < HOLDS_MS) return known.answer;
    const answer = hasTexts(warehouse, day);
    days.set(day, { askedMs: nowMs(), answer });
    answer.catch(() => days.delete(day));
    return answer;
  }

  return async (rows: readonly Arrived[]): Promise<(row: Arrived) => boolean> => {
    const beforeMs = nowMs() - READ_AGAIN_MS;
    const asked = new Set<number>();
    for (const { received_at: ms } of rows) if (ms < beforeMs) asked.add(Math.floor(ms / DAY_MS));
    if (asked.size === 0) return () => false;
    for (const [day, { askedMs }] of days) if (nowMs() - askedMs >= HOLDS_MS) days.delete(day);
    const found = new Set<number>();
    for (const day of asked) if (await mayHave(day)) found.add(day);
    return ({ received_at: ms }) => ms < beforeMs && found.has(Math.floor(ms / DAY_MS));
  };
}

/** Whether the table has events that arrived on a day of UTC with a UUID as a text. */
async function hasTexts(warehouse: Warehouse, day: number): Promise<boolean> {
  const rows = await select(
    warehouse,
    `SELECT 1 FROM event_rows
     WHERE received_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND received_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
       AND length(event_id) = 36 AND match(event_id, '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') LIMIT 1`,
    { from: day * DAY_MS, to: (day + 1) * DAY_MS },
    SIGNS_OF_LIFE,
  );
  return rows.length > 0;
}
