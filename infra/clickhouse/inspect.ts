// What a ClickHouse says of itself, for `svc doctor`.
import { select, type Warehouse, WarehouseError } from './client.ts';
import { migrationsOf } from './migrate.ts';
import { PERSON_DICTIONARIES } from './person_dictionaries.ts';
import { readServerHealth } from './server_health.ts';

export type ClickhouseFacts = Awaited<ReturnType<typeof inspectClickhouse>>;

/** Of those that change what becomes of inserts. */
const SETTINGS = ['deduplicate_insert', 'max_execution_time', 'readonly'];

/**
 * Asks for version, settings, clock, tables, dictionaries, merges, mutations and disks. What this user may not read is null.
 *
 * @throws WarehouseError where it does not answer, or refuses the login.
 */
export async function inspectClickhouse(warehouse: Warehouse, cluster: string | null, nowMs: () => number) {
  const askedMs = nowMs();
  const [server] = await select<{ version: string; now: string }>(
    warehouse,
    'SELECT version() AS version, toString(toUnixTimestamp64Milli(now64(3))) AS now',
  );
  const aheadMs = Math.round((askedMs + nowMs()) / 2 - Number(server?.now));
  const [settings, migrations, dictionaries, mutations, merges, health] = await Promise.all([
    unlessRefused(
      select<{ name: string; value: string }>(
        warehouse,
        'SELECT name, value FROM system.settings WHERE name IN {names:Array(String)}',
        { names: SETTINGS },
      ),
    ),
    unlessRefused(migrationsOf(warehouse)),
    unlessRefused(
      select<{ name: string; status: string; failure: string }>(
        warehouse,
        `SELECT name, toString(status) AS status, extract(last_exception, '\\\\(([A-Z_]+)\\\\)') AS failure
         FROM system.dictionaries WHERE database = currentDatabase() AND name IN {names:Array(String)}`,
        { names: [...PERSON_DICTIONARIES] },
      ),
    ),
    unlessRefused(
      select<{ table: string; code: string }>(
        warehouse,
        `SELECT table, extract(latest_fail_reason, '\\\\(([A-Z_]+)\\\\)') AS code FROM system.mutations
         WHERE database = currentDatabase() AND NOT is_done AND latest_fail_reason != '' LIMIT 20`,
      ),
    ),
    unlessRefused(
      select<{ seconds: number; count: string }>(
        warehouse,
        'SELECT max(elapsed) AS seconds, toString(count()) AS count FROM system.merges WHERE database = currentDatabase()',
      ),
    ),
    unlessRefused(readServerHealth(warehouse, cluster)),
  ]);
  return {
    version: server?.version ?? '',
    aheadMs,
    settings: settings && new Map(settings.map(({ name, value }) => [name, value])),
    ...{ migrations, dictionaries, mutations, health },
    longestMergeSeconds: merges === null ? null : (merges[0]?.seconds ?? 0),
  };
}

/** What the user may not read is not known. */
async function unlessRefused<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof WarehouseError && /ACCESS_DENIED|UNKNOWN_TABLE/.test(error.message)) return null;
    throw error;
  }
}
