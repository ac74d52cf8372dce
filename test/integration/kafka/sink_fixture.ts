import { afterAll, beforeAll, inject, onTestFinished } from 'vitest';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import type { SinkOptions } from '#infra/kafka/block_sink.ts';
import type { Admin, Kafka } from '#infra/kafka/client.ts';
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import type { LocalAddresses } from '#services/local/parts/parts.ts';
import { createTopic, kafkaOf, uniqueName } from '#test/harness/kafka.ts';
import type {} from '#test/harness/shared_parts.ts';
import { joinSink, type SinkRow } from './sink_member.ts';

export interface SinkWorld {
  kafka: Kafka;
  admin: Admin;
  warehouse: Warehouse;
  addresses: LocalAddresses;
}

/** The shared broker and a database of the shared ClickHouse, for the tests of one file. */
export function useSinkParts(): () => SinkWorld {
  const database = uniqueName('sinks').replaceAll('-', '_');
  let world: SinkWorld;
  beforeAll(async () => {
    const shared = inject('parts').addresses;
    const kafka = kafkaOf(shared.kafkaBrokers);
    const admin = kafka.admin();
    await admin.connect();
    await onRoot(`CREATE DATABASE ${database}`);
    const addresses = { ...shared, clickhouseUrl: addressOf(database) };
    world = { kafka, admin, warehouse: createWarehouse(addresses.clickhouseUrl), addresses };
  });
  afterAll(async () => {
    await world.admin.disconnect();
    await world.warehouse.close();
    await onRoot(`DROP DATABASE ${database}`);
  });
  return () => world;
}

async function onRoot(query: string): Promise<void> {
  const root = createWarehouse(addressOf('default'));
  await root.command({ query });
  await root.close();
}

function addressOf(database: string): string {
  const url = new URL(inject('parts').addresses.clickhouseUrl);
  url.pathname = `/${database}`;
  return url.href;
}

export interface SinkLane {
  groupId: string;
  topic: string;
  table: string;
  offsets: string;
}

/** A group with a topic and a table of its own. The table merges nothing, so what was written twice is seen twice. */
export async function createSinkLane({ kafka, warehouse }: SinkWorld, partitions = 1): Promise<SinkLane> {
  const table = uniqueName('sink').replaceAll('-', '_');
  await warehouse.command({
    query: `CREATE TABLE ${table} (record_offset Int64, word String) ENGINE = MergeTree ORDER BY record_offset
            SETTINGS non_replicated_deduplication_window = 1000`,
  });
  const [topic, offsets] = [await createTopic(kafka, 'sink', partitions), await createTopic(kafka, 'offsets', 1)];
  return { groupId: uniqueName('group'), topic, table, offsets };
}

/** Runs a sink in this process until the test ends or it is stopped. */
export async function runHere(
  world: SinkWorld,
  retryTopic: SinkLane,
  changes: Partial<SinkOptions<SinkRow>> = {},
): Promise<Consumption> {
  const kafka = kafkaOf(world.addresses.kafkaBrokers, uniqueName('member'));
  const { admin, warehouse } = world;
  const consumption = await joinSink({ kafka, admin, warehouse, ...retryTopic, changes });
  onTestFinished(() => consumption.stop());
  return consumption;
}

/** The words in the table, without FINAL, in the order of their records. */
export async function wordsIn({ warehouse }: SinkWorld, { table }: SinkLane): Promise<string[]> {
  const query = `SELECT word FROM ${table} ORDER BY record_offset, word`;
  const result = await warehouse.query({ query, format: 'JSONEachRow' });
  return (await result.json<{ word: string }>()).map(({ word }) => word);
}

/** The group's committed offset of partition 0, with its metadata. */
export async function committedIn(
  { admin }: SinkWorld,
  { groupId, topic }: SinkLane,
): Promise<{ offset: string; metadata: string | null } | undefined> {
  const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
  const at = found?.partitions.find(({ partition }) => partition === 0);
  return at && { offset: at.offset, metadata: at.metadata };
}

/** Offsets that the group has committed, each with its metadata behind it. */
export async function committedOffsets({ admin }: SinkWorld, { groupId, topic }: SinkLane): Promise<string[]> {
  const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
  return (found?.partitions ?? [])
    .toSorted((a, b) => a.partition - b.partition)
    .map(({ offset, metadata }) => `${offset} ${metadata ?? ''}`);
}
