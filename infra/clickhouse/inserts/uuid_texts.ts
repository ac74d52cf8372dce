import { EVENT_TOPIC_DAYS } from '#infra/kafka/topics.ts';
import { select, type Warehouse } from '../client.ts';

/** Since which ids that are UUIDs may be stored as numbers. */
const MIGRATION = '0015_uuids.sql';
const DAY_MS = 86_400_000;

/**
 * Until when events arrived that stand in the table with a UUID as a text: as numbers they would stand there a second time, as neither
 * the sort key nor a digest tells that they are the same. Milliseconds since 1970 UTC; 0 once the topic of events has none of them any more,
 * and no read of it from its start brings one again.
 *
 * @throws WarehouseError
 */
export async function uuidTextsUntil(warehouse: Warehouse, nowMs: number): Promise<number> {
  const [migrated] = await select<{ ms: number }>(
    warehouse,
    'SELECT toFloat64(toUnixTimestamp(max(applied_at))) * 1000 AS ms FROM schema_migrations WHERE name = {name:String}',
    { name: MIGRATION },
  );
  const appliedMs = migrated?.ms ?? 0;
  if (appliedMs < nowMs - (EVENT_TOPIC_DAYS + 1) * DAY_MS) return 0;
  // Warehouses of the version before went on until they were upgraded.
  const [texts] = await select<{ ms: number }>(
    warehouse,
    `SELECT toFloat64(toUnixTimestamp64Milli(max(received_at))) AS ms FROM event_rows
     WHERE received_at > fromUnixTimestamp64Milli({applied:Int64}, 'UTC') AND length(event_id) = 36`,
    { applied: appliedMs },
  );
  return Math.max(appliedMs, texts?.ms ?? 0);
}
