// Searches everything at rest for what was erased.

import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { withAdmin } from '#infra/kafka/client.ts';
import { filesBelow, textsIn, textsInFile } from './byte_search.ts';
import { select } from './clickhouse.ts';
import { newEvent, postEvents } from './ingest.ts';
import { kafkaOf } from './kafka.ts';
import { segmentBatches } from './kafka_segments.ts';
import { keysOf, textOfKey } from './redis_contents.ts';
import type { SharedService } from './shared_service.ts';
import { listTopics, readTopics } from './topic.ts';
import { until } from './until.ts';

/** What has events of the erased until its retention takes them, as docs/erasure.md says. */
const KEEPING =
  /^(?:events\.(?:raw|unique|identified)|dead\.\w+|again\.\w+|delivery\.[\w.]+|dedup\.duplicates|quota\.\w+)$/;
/** As after the days that a topic may wait for its compaction. */
export async function compactSoon(kafka: string, topics: readonly string[]): Promise<void> {
  await withAdmin(kafkaOf(kafka), async (admin) => {
    // Settings that are left out go back to the broker's.
    const settings = {
      ...{ 'cleanup.policy': 'compact', 'segment.ms': '500', 'min.cleanable.dirty.ratio': '0.001' },
      ...{ 'max.compaction.lag.ms': '1000', 'delete.retention.ms': '0' },
    };
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    const resources = topics.map((name) => ({ type: 2, name, configEntries }));
    await admin.alterConfigs({ validateOnly: false, resources });
  });
}

/** How long the parts may take to clean up, and how often that is looked at. */
export const CLEANED = { timeoutMs: 300_000, everyMs: 5_000 };

interface Searched {
  service: SharedService;
  /** Where the parts keep their files. */
  partsDir: string;
  /** In lower case. */
  texts: readonly string[];
  /** Topics that what was written over goes from. */
  compacted: readonly string[];
  /** Of a site that is there, to close segments by events. */
  serverKey: string;
}

/** Expects none of some texts in any table, in Redis, in any file or record, but in topics whose retention takes them. */
export async function expectGone({ service, partsDir, texts, compacted, serverKey }: Searched): Promise<void> {
  const { edge, clickhouse, kafka, redis } = service.ready;
  /** Searching takes longer than the server keeps a connection that nothing is asked on. */
  const asked = <Row>(query: string): Promise<Row[]> =>
    until(
      'rows',
      () => select<Row>(clickhouse, query),
      () => true,
    );
  const tables = await asked<{ name: string }>(
    `SELECT concat('\`', database, '\`.\`', name, '\`') AS name FROM system.tables
     WHERE engine LIKE '%MergeTree' OR engine LIKE '%Log' OR (database = 'system' AND name = 'mutations')`,
  );
  for (const { name } of tables) {
    const rows = await asked<object>(`SELECT * FROM ${name}`);
    const text = Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n'));
    expect([name, ...textsIn(text, texts)]).toEqual([name]);
  }
  const merged = `SELECT lower(hex(person)) AS person FROM merged_persons`;
  const persons = (await asked<{ person: string }>(merged)).map(({ person }) => `p_${person}`);
  expect(persons.filter((person) => texts.includes(person))).toEqual([]);

  const client = new Redis(redis);
  try {
    for (const key of await keysOf(client)) expect(textsIn(await textOfKey(client, key), texts)).toEqual([]);
    await client.config('SET', 'rdbcompression', 'no');
    await client.save();
    // Else the file has every command there ever was.
    await client.bgrewriteaof();
    const isWritten = async (): Promise<boolean> => /aof_rewrite_in_progress:0/.test(await client.info('persistence'));
    await until('the append-only file', isWritten);
  } finally {
    await client.config('SET', 'rdbcompression', 'yes');
    client.disconnect();
  }
  // Parts that were written anew stay for eight minutes by themselves.
  const warehouse = createWarehouse(clickhouse);
  for (const { name } of tables.filter((table) => table.name.startsWith('`svc`'))) {
    await warehouse.command({ query: `ALTER TABLE ${name} MODIFY SETTING old_parts_lifetime = 1` });
  }
  await warehouse.close();
  const folders = [join(partsDir, 'redis'), join(partsDir, 'clickhouse'), join(service.dataDir, 'log')];
  const holdingFiles = (): string[] =>
    folders.flatMap(filesBelow).filter((path) => textsInFile(path, texts).length > 0);
  // A part may go while its folder is read.
  await until('no file that holds any', holdingFiles, (paths) => paths.length === 0, CLEANED);

  await compactSoon(kafka, compacted);
  const holding = async (topics: readonly string[]): Promise<string[]> => {
    const records = await readTopics(kafka, [...topics]);
    const found = records.filter(
      ({ key, value }) => textsIn(Buffer.concat([Buffer.from(`${key} `), value ?? Buffer.alloc(0)]), texts).length > 0,
    );
    return [...new Set(found.map(({ topic }) => topic))].sort();
  };
  let closing = 0;
  const holdingNow = async (): Promise<string[]> => {
    // A segment is closed when something is appended after its time, to each partition.
    const events = Array.from({ length: 8 }, () => {
      const name = `closing-${closing++}`;
      return newEvent({ event: 'purchase', distinct_id: name, properties: { email: `${name}@example.com` } });
    });
    await postEvents(edge, serverKey, events);
    return holding(compacted);
  };
  await until('compaction', holdingNow, (topics) => topics.length === 0, CLEANED);
  const left = await holding(await listTopics(kafka));
  expect(left.filter((topic) => !KEEPING.test(topic))).toEqual([]);
  expect(left).toEqual(expect.arrayContaining(['events.raw', 'events.unique', 'events.identified']));
  for (const { path, records } of segmentBatches(join(partsDir, 'kafka'))) {
    const topic = path.split('/').at(-2)?.replace(/-\d+$/, '') ?? '';
    if (compacted.includes(topic)) continue;
    expect([path, KEEPING.test(topic) || textsIn(records, texts).length === 0]).toEqual([path, true]);
  }
}
