// Takes a backup: of what only Kafka holds and keeps for long, and of ClickHouse by its own statement.

import { readFileSync } from 'node:fs';
import { backUpWarehouse, shownPlaces, tablesThere } from '#infra/clickhouse/backup.ts';
import { type KafkaSession, membersIn } from '#infra/kafka/client.ts';
import { committedOffset, topicOffsets } from '#infra/kafka/offsets.ts';
import { readPartitions, readTopic } from '#infra/kafka/read_topic.ts';
import { REFILL_GROUP, TOPICS } from '#infra/kafka/topics.ts';
import { createSchemaTexts } from '#infra/registry/schema_registry.ts';
import { readWire } from '#schemas/wire.ts';
import { BackupError, checkFiles, makeFolder, openTopicFile, type StoredTopic, writeManifest } from './archive.ts';
import { type BackupParts, keyMarks, sayingBytes, withKafka } from './backup_parts.ts';

/**
 * What cannot be made again: settings and their audit, who is whom, what was used, what was erased, and what alerts and replays have
 * said. Events, outcomes and dead letters are not: Kafka has them for days, on several brokers, and ClickHouse has the rows. Those whose
 * erasure is noted come last, so that none is missing of whom a table before has nothing any more.
 */
const BACKED_UP = [
  TOPICS.settings,
  TOPICS.audit,
  TOPICS.dataReads,
  TOPICS.links,
  TOPICS.usage,
  TOPICS.alerts,
  TOPICS.replays,
  TOPICS.erasures,
] as const;

interface BackupRequest {
  folder: string;
  /** Where ClickHouse is to write to, in its words; null: it is not backed up. */
  place: string | null;
  say(line: string): void;
  nowMs(): number;
}

interface BackupTaken {
  topics: Record<string, number>;
  places: string[];
  /** What arrived later may be missing in ClickHouse's rows, in milliseconds since 1970 UTC; null: they were not backed up. */
  fill_since: number | null;
}

/** Writes a backup to a folder, which has none. @throws BackupError, WarehouseBackupError */
export async function takeBackup(
  parts: BackupParts,
  { folder, place, say, nowMs }: BackupRequest,
): Promise<BackupTaken> {
  const takenAtMs = nowMs();
  if (place !== null) shownPlaces({ url: parts.clickhouseUrl, cluster: parts.clickhouseCluster, place });
  return withKafka(parts, async (session) => {
    if (place !== null) await checkRows(parts, session);
    await makeFolder(folder);
    // ClickHouse first: what is erased meanwhile is then noted in what follows, and can be erased again where it is brought back.
    const clickhouse =
      place === null ? null : await backUpRows(parts, session, place, takenAtMs, sayingBytes(say, nowMs));
    const topics: Record<string, StoredTopic> = {};
    for (const topic of BACKED_UP) {
      topics[topic] = await backUpTopic(parts, session, folder, topic);
      say(`${topic}: ${topics[topic].records} records`);
    }
    await checkFiles(folder, { topics });
    await writeManifest(folder, { version: VERSION, taken_at: takenAtMs, topics, clickhouse, keys: keyMarks(parts) });
    const counts = Object.entries(topics).map(([topic, { records }]) => [topic, records] as const);
    const [places, since] = [clickhouse?.places ?? [], clickhouse?.since ?? null];
    return { topics: Object.fromEntries(counts), places, fill_since: since };
  });
}

/** A backup that lacks rows would look like any other, and those that are wanted may be deleted for it. */
async function checkRows({ clickhouseUrl }: BackupParts, session: KafkaSession): Promise<void> {
  if ((await membersIn(session, REFILL_GROUP)) > 0) {
    throw new BackupError('refill_under_way', 'rows are being filled in: wait for its end, or leave out --clickhouse');
  }
  if ((await tablesThere(clickhouseUrl)).includes('event_rows')) return;
  throw new BackupError(
    'tables_missing',
    'the database has no event_rows: there is nothing to back up, or it is another',
  );
}

const VERSION = String(
  (JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: unknown }).version,
);

async function backUpRows(
  { clickhouseUrl: url, clickhouseCluster: cluster }: BackupParts,
  session: KafkaSession,
  place: string,
  takenAtMs: number,
  onProgress: (bytes: number) => void,
) {
  const since = await storedSince(session, takenAtMs);
  const reports = await backUpWarehouse({ url, cluster, place, onProgress });
  const bytes = reports.reduce((sum, one) => sum + one.bytes, 0);
  return { places: reports.map((one) => one.place), bytes, since };
}

/** Of this host and the brokers, which stamp records. */
const CLOCKS_DIFFER_MS = 60_000;

/** Topics whose rows are in ClickHouse alone once their records are gone. */
const STORED_TOPICS = [
  ...[TOPICS.identified, TOPICS.redeliverWarehouse, TOPICS.links, TOPICS.usage, TOPICS.outcomes],
  ...[TOPICS.inventory, TOPICS.duplicates],
];

/** Of a partition, behind what is committed: some are marks of transactions. */
const OFFSETS_LOOKED_AT = 1_000;

/** A moment before which everything was in ClickHouse: when the oldest record came that the warehouse has not committed, or now. */
async function storedSince({ kafka, admin, groupOf }: KafkaSession, nowMs: number): Promise<number> {
  let sinceMs = nowMs;
  for (const topic of STORED_TOPICS) {
    const spans = new Map<number, { first: number; end: number }>();
    for (const { partition, low, high } of await topicOffsets(admin, topic)) {
      const committed = (await committedOffset(admin, groupOf('warehouse'), { topic, partition })) ?? 0;
      const first = Math.max(Number(low), committed);
      const end = Math.min(Number(high), first + OFFSETS_LOOKED_AT);
      if (first < end) spans.set(partition, { first, end });
    }
    if (spans.size === 0) continue;
    await readPartitions({
      ...{ kafka, topic, groupPrefix: groupOf('backup'), spans },
      async onRecords(records, partition) {
        const first = spans.get(partition)?.first ?? 0;
        for (const { offset, timestampMs } of records) if (offset >= first) sinceMs = Math.min(sinceMs, timestampMs);
      },
    });
  }
  return sinceMs - CLOCKS_DIFFER_MS;
}

async function backUpTopic(
  { registryUrl, kafka }: BackupParts,
  session: KafkaSession,
  folder: string,
  topic: string,
): Promise<StoredTopic> {
  const texts = createSchemaTexts(registryUrl, kafka.topicPrefix ?? '');
  const schemas: Record<string, string> = {};
  const file = openTopicFile(folder, topic);
  await readTopic(session, topic, async ({ key, value }, partition) => {
    const wire = readWire(value);
    if (wire.ok) schemas[wire.schemaId] ??= await texts.of(wire.schemaId);
    await file.add({ partition, key: key?.toString('utf8') ?? null, value });
  });
  const offsets = await topicOffsets(session.admin, topic);
  return { partitions: offsets.length, schemas, ...(await file.end()) };
}
