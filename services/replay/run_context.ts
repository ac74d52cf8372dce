import type { Warehouse } from '#infra/clickhouse/client.ts';
import type { KafkaSession } from '#infra/kafka/session.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Codec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { DeliveryJobRecord } from '#schemas/records.ts';
import type { ReplayProgress } from '#schemas/replay_progress.ts';

/** What every replay of the process uses. */
export interface ReplayContext {
  session: KafkaSession;
  registry: Registry;
  warehouse: Warehouse;
  table: SettingsTable;
  progress: Codec<ReplayProgress>;
  /** Writes the jobs that delivery reads, whatever the destination: they share a schema, not an id. */
  jobsOf(destination: string): Promise<Codec<DeliveryJobRecord>>;
  /** Schema id of an EventBatch on events.identified. */
  eventSchemaId: number;
  logger: Logger;
  nowMs(): number;
}
