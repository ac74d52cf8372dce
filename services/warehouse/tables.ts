import type { PhoneHmac } from '#infra/clickhouse/event_column_layout.ts';
import { type ColumnarEvent, columnarEvents } from '#infra/clickhouse/event_columns.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createCodec, createEventBatchReader, type Decoded } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { inventoryRows } from '#pipelines/warehouse/inventory_rows.ts';
import { outcomeRows } from '#pipelines/warehouse/outcome_rows.ts';
import type { EntryView } from '#schemas/event_batch.ts';
import { type IdentityLink, isOfNode } from '#schemas/identity_link.ts';
import type { InventoryRecord } from '#schemas/inventory.ts';
import type { DeliveryOutcomes, Duplicates, QuotaUsage } from '#schemas/records.ts';

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
