// Which table each topic goes to, and the rows that its records are.
import { ColumnarEvent, columnarEvents, type PhoneHmac } from '#infra/clickhouse/inserts/event_columns.ts';
import type { Locating } from '#infra/clickhouse/inserts/visitor_columns.ts';
import type { SinkOptions } from '#infra/kafka/block_sink.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import { createCodec, createEventBatchReader, type Decoded } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { ERASED, type SuppressionList } from '#pipelines/erasure/suppression.ts';
import { inventoryRows, outcomeRows } from '#pipelines/warehouse/block.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import {
  type DeliveryOutcomes,
  type Duplicates,
  type IdentityLink,
  type InventoryRecord,
  isOfNode,
  type QuotaUsage,
} from '#schemas/records.ts';
import { isUnexpected, kindOf } from '#services/stage/batches.ts';
import { batchOf, type DeadLetters } from './dead_letters.ts';

export type Row = ColumnarEvent | Readonly<Record<string, unknown>>;

interface Rows {
  rows: Row[];
  /** Events of the record that make no row. */
  poisonPills: { view: EncodedEvent; index: number; error: unknown }[];
}

interface Source {
  table: string;
  rowsOf(value: Buffer | null): Promise<Decoded<Rows>>;
}

/** Where a record without a value is a tombstone; on any other topic it is one that cannot be read. */
const COMPACTED: ReadonlySet<string> = new Set([TOPICS.links, TOPICS.usage]);

export type Tables = Awaited<ReturnType<typeof createTables>>;

/**
 * @param suppressed Whose events make no rows, as they were erased; `dropped` is told how many, and `onErased` which, but for those of sites that
 * are erased as a whole.
 */
export async function createTables(
  registry: Registry,
  phoneHmac: PhoneHmac,
  suppressed: Pick<SuppressionList, 'isErasedPerson' | 'isErasedSite' | 'kept'>,
  dropped: (reason: string, events: number) => void,
  locating: Locating,
  onErased: (view: EncodedEvent) => void = () => undefined,
) {
  const sources = new Map<string, Source>();
  for (const topic of [TOPICS.identified, TOPICS.redeliverWarehouse]) {
    const reader = await createEventBatchReader(registry, TOPICS.identified);
    sources.set(topic, {
      table: 'event_rows',
      async rowsOf(value) {
        const read = await reader.read(value);
        if (!read.ok) return read;
        const kept = suppressed.kept(read.value, (view) => view);
        const left = read.value.length - kept.length;
        if (left > 0) {
          dropped(ERASED, left);
          const stays = new Set(kept);
          for (const view of read.value) {
            if (!stays.has(view) && !suppressed.isErasedSite(view.siteId)) onErased(view);
          }
        }
        const readAgain = left > 0 ? undefined : () => reader.readAgain(value);
        return { ok: true, value: columnarEvents(kept, phoneHmac, locating, readAgain) };
      },
    });
  }
  async function add<T>(
    topic: string,
    schema: Parameters<typeof createCodec>[2],
    table: string,
    rows: (value: T) => Row[],
  ): Promise<void> {
    const codec = await createCodec<T>(registry, topic, schema);
    sources.set(topic, {
      table,
      async rowsOf(value) {
        if (value === null && COMPACTED.has(topic)) return { ok: true, value: { rows: [], poisonPills: [] } };
        const decoded = await codec.decode(value);
        if (!decoded.ok) return decoded;
        const all = rows(decoded.value);
        const kept = all.filter((row) => !('site_id' in row && suppressed.isErasedSite(String(row['site_id']))));
        if (kept.length < all.length) dropped(ERASED, all.length - kept.length);
        return { ok: true, value: { rows: kept, poisonPills: [] } };
      },
    });
  }
  await add<IdentityLink>(TOPICS.links, 'identity_link', 'person_links', (link) => {
    if (isOfNode(link) || suppressed.isErasedPerson(link.site_id, link.person_id)) return [];
    const { site_id, person_id, target, first_seen, version } = link;
    return [{ site_id, person_id, target, first_seen, version }];
  });
  await add<QuotaUsage>(TOPICS.usage, 'quota_usage', 'quota_usage', ({ log: _log, ...fact }) => [fact]);
  await add<DeliveryOutcomes>(TOPICS.outcomes, 'delivery', 'delivery_outcomes', outcomeRows);
  await add<InventoryRecord>(TOPICS.inventory, 'inventory', 'inventory', inventoryRows);
  await add<Duplicates>(TOPICS.duplicates, 'duplicates', 'duplicates', ({ duplicates }) =>
    duplicates.map((one) => ({ ...one, event: one.event ?? '', key_id: one.key_id ?? '' })),
  );
  const sourceOf = (topic: string): Source => {
    const source = sources.get(topic);
    if (source === undefined) throw new Error(`no table for topic ${topic}`);
    return source;
  };
  return {
    topics: [...sources.keys()],
    tableOf: (topic: string): string => sourceOf(topic).table,
    /** Throws where the whole record makes no rows. */
    rowsOf: (topic: string, value: Buffer | null): Promise<Decoded<Rows>> => sourceOf(topic).rowsOf(value),
  };
}

/**
 * Reads records as rows. A record that cannot be read, and an event that makes no row, become dead letters; what passes by
 * itself, such as a registry that does not answer, is thrown.
 */
export async function createRowReader(
  registry: Registry,
  tables: Pick<Tables, 'rowsOf'>,
  deadLetters: DeadLetters,
): Promise<(topic: string, partition: number, record: InRecord) => Promise<Row[]>> {
  const eventSchemaId = await registry.idOf(TOPICS.identified, 'event_batch');
  return async (topic, partition, record) => {
    const at = { topic, partition, offset: record.offset, index: -1 };
    try {
      const read = await tables.rowsOf(topic, record.value);
      if (!read.ok) {
        await deadLetters.write(at, read.reason, '', record.value);
        return [];
      }
      for (const { view, index, error } of read.value.poisonPills) {
        await deadLetters.write({ ...at, index }, 'transform_failed', kindOf(error), batchOf(eventSchemaId, view));
      }
      return read.value.rows;
    } catch (error) {
      if (!isUnexpected(error)) throw error;
      await deadLetters.write(at, 'transform_failed', kindOf(error), record.value);
      return [];
    }
  };
}

/** Counts what is stored and committed; `linksChanged` is called where persons may have merged. */
export function countStored(
  metrics: Pick<Metrics, 'in' | 'passed' | 'ageSeconds'>,
  linksChanged: () => void,
): SinkOptions<Row>['committed'] {
  return (topic, _partition, rows) => {
    metrics.in(rows.length);
    metrics.passed(rows.length);
    if (topic === TOPICS.links) linksChanged();
    const [oldest] = rows;
    if (oldest instanceof ColumnarEvent) metrics.ageSeconds((Date.now() - oldest.received_at) / 1000);
  };
}
