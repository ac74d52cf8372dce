// A member of a sink's group in a process of its own, so that it can be stalled or killed. Run by the sink tests.
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { createWarehouse, insertBlock } from '#infra/clickhouse/client.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { kafkaOf } from '#test/harness/kafka.ts';
import { joinSink, type SinkRow, wordsOf } from '#test/integration/kafka/sink_member.ts';

export interface SinkChildOptions {
  brokers: string;
  clickhouseUrl: string;
  groupId: string;
  topic: string;
  table: string;
  offsets: string;
  blockRowsMax: number;
  /** planned: infra's token. random: one that means other rows each time. */
  token: 'planned' | 'random';
  /** Die by SIGKILL when a block is planned but not inserted, or inserted but not committed. */
  die?: 'planned' | 'inserted';
  /** Block the whole process this long between plan and insert. */
  stallMs?: number;
  /** Die by SIGKILL whenever rows are made of the record that says this. */
  killer?: string;
}

const options = JSON.parse(process.argv[2] ?? '{}') as SinkChildOptions;
const say = (line: string): void => void writeSync(1, `${line}\n`);
const kafka = kafkaOf(options.brokers);
const admin = kafka.admin();
await admin.connect();
const warehouse = createWarehouse(options.clickhouseUrl);

async function insert(_topic: string, planned: string, rows: readonly object[]): Promise<void> {
  const token = options.token === 'planned' ? planned : randomUUID();
  say(`block ${planned.split('/').at(-1)} of ${rows.length}`);
  if (options.die === 'planned') process.kill(process.pid, 'SIGKILL');
  if (options.stallMs !== undefined) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, options.stallMs);
  await insertBlock(warehouse, options.table, token, rows);
  if (options.die === 'inserted') process.kill(process.pid, 'SIGKILL');
  say('inserted');
}

async function toRows(topic: string, partition: number, record: InRecord): Promise<SinkRow[]> {
  if (record.value?.toString() === options.killer) process.kill(process.pid, 'SIGKILL');
  return wordsOf(topic, partition, record);
}

async function deadLetter(topic: string, partition: number, { offset, value }: InRecord): Promise<void> {
  const deadLetter = { record_offset: offset, word: `dead letter ${value?.toString()}` };
  await insertBlock(warehouse, options.table, `${topic}/${partition}/dead letter ${offset}`, [deadLetter]);
}

const { groupId, topic, table, offsets, blockRowsMax } = options;
await joinSink({
  kafka,
  admin,
  warehouse,
  groupId,
  topic,
  table,
  offsets,
  changes: { insert, toRows, deadLetter, blockRowsMax },
});
say('runs');
