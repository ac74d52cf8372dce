import { insertBlock, type Warehouse } from '#infra/clickhouse/client.ts';
import { runSink, type SinkOptions } from '#infra/kafka/block_sink.ts';
import type { Admin, Kafka } from '#infra/kafka/client.ts';
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { quiet, SESSION_TIMEOUT_MS } from '#test/harness/kafka.ts';

/** A row of a test's table: where the record stood and what it said. */
export interface SinkRow {
  record_offset: number;
  word: string;
}

export interface SinkMemberOptions {
  kafka: Kafka;
  admin: Admin;
  warehouse: Warehouse;
  groupId: string;
  topic: string;
  table: string;
  offsets: string;
  changes?: Partial<SinkOptions<SinkRow>>;
}

/** A record is a row for each of its words; "poison" is none. */
export async function wordsOf(_topic: string, _partition: number, record: InRecord): Promise<SinkRow[]> {
  const text = record.value?.toString() ?? '';
  if (text === 'poison') return [];
  return text.split(' ').map((word) => ({ record_offset: record.offset, word }));
}

/** Runs a sink into a table, with blocks that are only cut by age unless a test says otherwise. */
export function joinSink(options: SinkMemberOptions): Promise<Consumption> {
  return runSink<SinkRow>({
    kafka: options.kafka,
    admin: options.admin,
    groupId: options.groupId,
    topics: [options.topic],
    offsetsTopic: options.offsets,
    sessionTimeoutMs: SESSION_TIMEOUT_MS,
    concurrency: 4,
    toRows: wordsOf,
    insert: (_topic, token, rows) => insertBlock(options.warehouse, options.table, token, rows),
    blockRowsMax: 1_000,
    blockBytesMax: 1024 * 1024,
    flushIntervalMs: 200,
    committed: () => undefined,
    nowMs: Date.now,
    logger: quiet,
    onFatal: (error) => {
      throw error;
    },
    ...options.changes,
  });
}
