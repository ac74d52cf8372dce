import type { Warehouse } from '#infra/clickhouse/client.ts';
import { createUuidTexts } from '#infra/clickhouse/inserts/uuid_texts.ts';
import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import type { WarehouseConfig } from '#infra/config/stage_config.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { databasesOf, openPlaces } from '#infra/places/places.ts';
import type { FollowedSettings } from '#infra/settings/follow_settings.ts';
import { phoneHmac } from '#pipelines/identity/identity.ts';
import { keptPlaces } from '#pipelines/warehouse/visitor.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import { openSuppressionList, type Runtime } from '#services/stage/runtime.ts';
import type { DeadLetters } from './dead_letters.ts';
import { createInsert, createTableWaits } from './insert.ts';
import { createRowReader, createTables } from './tables.ts';

interface RowParts {
  warehouse: Warehouse;
  settings: FollowedSettings;
  /** What records that make no rows become. */
  deadLetters: DeadLetters;
  /** Told of each event that makes no row, as whoever it is about was erased; of a site that was erased whole of none. */
  onErased?: (view: EncodedEvent) => void;
}

/** Opens what makes rows of records, and inserts them. */
export async function openRows(runtime: Runtime, config: WarehouseConfig, parts: RowParts) {
  const { registry, metrics, logger, onStop } = runtime;
  const { warehouse, settings, deadLetters, onErased } = parts;
  const { identitySecret, dedupWindowMs } = config;
  const places = await openPlaces(databasesOf(config.placeDatabases), logger);
  onStop(async () => places.stop());
  const tables = await createTables(
    registry,
    (siteId, sha256) => phoneHmac(identitySecret, siteId, sha256),
    await openSuppressionList(runtime, identitySecret),
    metrics.dropped,
    {
      placeOf: places.placeOf,
      get version() {
        return places.version;
      },
      ofSite: (siteId) => keptPlaces(settings.table.site(siteId)),
    },
    onErased,
  );
  const waits = createTableWaits(metrics, logger, monotonicMs);
  const eventSchemaId = await registry.idOf(TOPICS.identified, 'event_batch');
  const sink = {
    toRows: await createRowReader(registry, tables, deadLetters),
    // Of an event that is older than the claims dedup has, the table is asked first: it may have passed dedup before.
    insert: createInsert({
      ...{ warehouse, cluster: config.parts.clickhouseCluster, tables, waits, deadLetters },
      ...{ eventSchemaId, metrics, logger, dedupWindowMs },
      uuidTexts: createUuidTexts(warehouse, Date.now),
    }),
  };
  return { tables, waits, sink };
}
