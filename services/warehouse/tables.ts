// Which table each topic goes to, and the rows that its records are.
import { ColumnarEvent, columnarEvents, type PhoneHmac } from '#infra/clickhouse/event_columns.ts';
import type { SinkOptions } from '#infra/kafka/block_sink.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import { createCodec, createEventBatchReader, type Decoded } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { inventoryRows, outcomeRows } from '#pipelines/warehouse/block.ts';
import type { EntryView } from '#schemas/event_batch.ts';
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
  poisonPills: { view: EntryView; index: number; error: unknown }[];
}

interface Source {
  table: string;
  rowsOf(value: Buffer | null): Promise<Decoded<Rows>>;
}

export interface Tables {
  topics: string[];
  tableOf(topic: string): string;
  /** Throws where the whole record makes no rows. */
  rowsOf(topic: string, value: Buffer | null): Promise<Decoded<Rows>>;
}

/** Which topic becomes which table, and a record's rows. */
export async function createTables(registry: Registry, phoneHmac: PhoneHmac): Promise<Tables> {
  const sources = new Map<string, Source>([
    [TOPICS.identified, await events(registry, phoneHmac)],
    [TOPICS.againWarehouse, await events(registry, phoneHmac)],
    [TOPICS.links, await links(registry)],
    [TOPICS.usage, await usage(registry)],
    [TOPICS.outcomes, await outcomes(registry)],
    [TOPICS.inventory, await inventory(registry)],
    [TOPICS.duplicates, await duplicates(registry)],
  ]);
  const sourceOf = (topic: string): Source => {
    const source = sources.get(topic);
    if (source === undefined) throw new Error(`no table for topic ${topic}`);
    return source;
  };
  return {
    topics: [...sources.keys()],
    tableOf: (topic) => sourceOf(topic).table,
    rowsOf: (topic, value) => sourceOf(topic).rowsOf(value),
  };
}

async function events(registry: Registry, phoneHmac: PhoneHmac): Promise<Source> {
  const reader = await createEventBatchReader(registry, TOPICS.identified);
  return {
    table: 'event_rows',
    async rowsOf(value) {
      const read = await reader.read(value);
      return read.ok ? { ok: true, value: columnarEvents(read.value, phoneHmac) } : read;
    },
  };
}

async function links(registry: Registry): Promise<Source> {
  const codec = await createCodec<IdentityLink>(registry, TOPICS.links, 'identity_link');
  return {
    table: 'person_links',
    rowsOf: async (value) =>
      mapped(await codec.decode(value), (link) => {
        if (isOfNode(link)) return [];
        const { site_id, person_id, target, first_seen, version } = link;
        return [{ site_id, person_id, target, first_seen, version }];
      }),
  };
}

async function usage(registry: Registry): Promise<Source> {
  const codec = await createCodec<QuotaUsage>(registry, TOPICS.usage, 'quota_usage');
  return {
    table: 'quota_usage',
    rowsOf: async (value) => mapped(await codec.decode(value), ({ log: _log, ...fact }) => [fact]),
  };
}

async function outcomes(registry: Registry): Promise<Source> {
  const codec = await createCodec<DeliveryOutcomes>(registry, TOPICS.outcomes, 'delivery');
  return {
    table: 'delivery_outcomes',
    rowsOf: async (value) => mapped(await codec.decode(value), outcomeRows),
  };
}

async function inventory(registry: Registry): Promise<Source> {
  const codec = await createCodec<InventoryRecord>(registry, TOPICS.inventory, 'inventory');
  return { table: 'inventory', rowsOf: async (value) => mapped(await codec.decode(value), inventoryRows) };
}

async function duplicates(registry: Registry): Promise<Source> {
  const codec = await createCodec<Duplicates>(registry, TOPICS.duplicates, 'duplicates');
  return {
    table: 'duplicates',
    rowsOf: async (value) =>
      mapped(await codec.decode(value), ({ duplicates: each }) =>
        each.map((one) => ({ ...one, event: one.event ?? '', key_id: one.key_id ?? '' })),
      ),
  };
}

function mapped<T>(decoded: Decoded<T>, rows: (value: T) => Row[]): Decoded<Rows> {
  return decoded.ok ? { ok: true, value: { rows: rows(decoded.value), poisonPills: [] } } : decoded;
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
