// Brings a backup back: ClickHouse by its own statement, topics record by record; and has erased anew what was erased since.

import { restoreWarehouse, shownPlaces, tablesThere } from '#infra/clickhouse/backup.ts';
import { WarehouseError } from '#infra/clickhouse/client.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { applyFact, readFacts } from '#infra/kafka/follow_topic.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import { openFencedProducer } from '#infra/kafka/producers.ts';
import { provisionTopics } from '#infra/kafka/provision.ts';
import { declareTopics, TOPICS } from '#infra/kafka/topics.ts';
import { createLogger } from '#infra/log/logger.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { createRegistry, createSchemaTexts } from '#infra/registry/schema_registry.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { erasedAnew, SUPPRESSED_DAYS } from '#pipelines/erasure/erasure.ts';
import { createSuppressionList } from '#pipelines/erasure/suppression.ts';
import { isOver } from '#pipelines/redelivery/replay.ts';
import { type Erasure, type IdentityLink, isOfNode, type ReplayProgress } from '#schemas/records.ts';
import { readWire, writeWire } from '#schemas/wire.ts';
import { BackupError, checkFiles, type Manifest, readManifest, readTopicFile, type StoredRecord } from './archive.ts';
import { type BackupParts, keyMarks, sayingBytes, withKafka } from './backup_parts.ts';

interface RestoreRequest {
  folder: string;
  /** Where ClickHouse is to read from, in its words; null: its tables are left as they are. */
  place: string | null;
  isOfTopics: boolean;
  /** Also where persons who were erased since can no longer be told. */
  isForced: boolean;
  say(line: string): void;
  nowMs(): number;
}

export interface Restored {
  taken_at: number;
  /** How many records of each were written. */
  topics: Record<string, number>;
  places: string[];
  /** What arrived since then has to be filled into ClickHouse again, as far as Kafka has it; null: it was left as it is. */
  fill_since: number | null;
  /** Erasures that are carried out once more. */
  erased_anew: number;
}

const DAY_MS = 86_400_000;

/** All or nothing is checked before anything is changed. @throws BackupError, WarehouseBackupError */
export async function restoreBackup(parts: BackupParts, request: RestoreRequest): Promise<Restored> {
  const { folder, place, isOfTopics, say } = request;
  const manifest = await readManifest(folder);
  checkWhetherFit(parts, manifest, request);
  if (isOfTopics) await checkFiles(folder, manifest);
  if (place !== null) await checkTables(parts);
  return withKafka(parts, async (session) => {
    if (isOfTopics) await checkTopics(parts, session, manifest);
    const topics = isOfTopics ? await restoreTopics(parts, session, request, manifest) : {};
    const since = place === null ? manifest.taken_at : (manifest.clickhouse?.since ?? manifest.taken_at);
    // Before the rows: ClickHouse goes on with these by itself, whoever is interrupted here.
    const anew = await eraseAnew(parts, session, since, request.nowMs());
    const places: string[] = [];
    if (place !== null) {
      say(`rows of before ${new Date(since).toISOString()} are restored: refill takes this moment`);
      const { clickhouseUrl: url, clickhouseCluster: cluster } = parts;
      places.push(
        ...(await restoreWarehouse({ url, cluster, place, onProgress: sayingBytes(say, request.nowMs) })).map(
          (one) => one.place,
        ),
      );
    }
    return {
      ...{ taken_at: manifest.taken_at, topics, places },
      ...{ fill_since: place === null ? null : since, erased_anew: anew },
    };
  });
}

function checkWhetherFit(parts: BackupParts, { keys, clickhouse }: Manifest, request: RestoreRequest): void {
  const own = keyMarks(parts);
  if (own.identity !== keys.identity) {
    const why = 'IDENTITY_SECRET and IDENTITY_KEY are not of the backup: all persons would become others';
    throw new BackupError('keys_differ', why);
  }
  const lost = keys.sealing.filter((mark) => !own.sealing.includes(mark)).map((mark) => mark.split(':')[0]);
  if (request.isOfTopics && lost.length > 0) {
    const why = `SECRETS_KEYS lacks ${lost.join(', ')}: destinations' secrets and passwords would not open`;
    throw new BackupError('keys_differ', why);
  }
  if (request.place === null) return;
  if (clickhouse === null) {
    throw new BackupError(
      'backup_without_clickhouse',
      'the folder says nothing of ClickHouse, which was not backed up with it',
    );
  }
  const { clickhouseUrl: url, clickhouseCluster: cluster } = parts;
  const places = shownPlaces({ url, cluster, place: request.place });
  if (places.length !== clickhouse.places.length) {
    const why = `${clickhouse.places.length} servers were backed up, and ${places.length} are to be restored`;
    throw new BackupError('servers_differ', `${why}: CLICKHOUSE_URL must name as many, in the same order`);
  }
  if (!request.isForced && places.join() !== clickhouse.places.join()) {
    const why = `with this folder ClickHouse wrote ${clickhouse.places.join(', ')}, and not ${places.join(', ')}`;
    throw new BackupError(
      'place_differs',
      `${why}: take the folder of those rows, which says what came since, or --force for a copy of them`,
    );
  }
  if (!request.isForced && request.nowMs() - clickhouse.since > SUPPRESSED_DAYS * DAY_MS) {
    const why = `persons who were erased more than ${SUPPRESSED_DAYS} days ago would be there again, as nobody knows who they were`;
    throw new BackupError('backup_too_old', `${why}; --force brings it back all the same`);
  }
}

/** Tables that provisioning makes at a start would stand in the way of those of the backup. */
async function checkTables({ clickhouseUrl }: BackupParts): Promise<void> {
  const tables = await tablesThere(clickhouseUrl).catch((error: unknown) => {
    if (!(error instanceof WarehouseError && error.message.includes('UNKNOWN_DATABASE'))) throw error;
    const why = 'create the database, empty; of npm start, start the parts again, which makes it';
    throw new BackupError('database_missing', why);
  });
  if (tables.length === 0) return;
  const some = tables.slice(0, 3).join(', ');
  const why = `the database has tables (${some}${tables.length > 3 ? ', ...' : ''}): drop it and create it empty, with all processes stopped`;
  throw new BackupError('tables_there', why);
}

async function checkTopics({ kafka }: BackupParts, { admin }: KafkaSession, { topics }: Manifest): Promise<void> {
  const prefix = kafka.topicPrefix ?? '';
  const declared = new Map(declareTopics([], kafka).map((one) => [one.name, one.partitions]));
  const existing = new Set(await admin.listTopics());
  for (const [topic, { partitions }] of Object.entries(topics)) {
    const there = existing.has(topic) ? await topicOffsets(admin, topic) : null;
    const count = there?.length ?? declared.get(topic);
    if (count !== partitions) {
      const why = `${prefix}${topic} had ${partitions} partitions and has ${count ?? 'none'}: set KAFKA_SMALL_TOPIC_PARTITIONS=${partitions}`;
      throw new BackupError('partitions_differ', why);
    }
    if (there?.some(({ high }) => Number(high) > 0)) {
      throw new BackupError(
        'topic_not_empty',
        `${prefix}${topic} has had records: delete it, with all processes stopped`,
      );
    }
  }
}

/** Of a transaction; brokers take it whatever the size of the topic. */
const RECORDS_AT_ONCE = 2_000;
const BYTES_AT_ONCE = 4 * 1024 * 1024;

/** Whether a record comes back. */
type Sieve = (value: Buffer) => Promise<boolean>;

async function restoreTopics(
  { kafka, registryUrl, identitySecret }: BackupParts,
  session: KafkaSession,
  { folder, say }: RestoreRequest,
  manifest: Manifest,
): Promise<Record<string, number>> {
  const names = DESTINATIONS.map(({ name }) => name);
  const declared = declareTopics(names, kafka);
  await provisionTopics(session.kafka, declared, kafka.replicationFactor);
  const ids = await registerSchemas(registryUrl, kafka.topicPrefix ?? '', manifest);
  const registry = createRegistry(registryUrl, kafka);
  // Ours come after those of the backup, which may be older.
  for (const { name, schema } of declared)
    if (schema !== null && name in manifest.topics) await registry.register(name, schema);
  const list = createSuppressionList(identitySecret);
  const erasures = await createCodec<Erasure>(registry, TOPICS.erasures, 'erasure');
  const links = await createCodec<IdentityLink>(registry, TOPICS.links, 'identity_link');
  const replays = await createCodec<ReplayProgress>(registry, TOPICS.replays, 'replay_progress');
  const sieves: Readonly<Record<string, Sieve>> = {
    // Written down before they were erased, and read before that was.
    [TOPICS.links]: async (value) => {
      const read = await links.decode(value);
      if (!read.ok) return true;
      const { site_id, person_id, target } = read.value;
      return (
        !list.isErasedPerson(site_id, person_id) && (isOfNode(read.value) || !list.isErasedPerson(site_id, target))
      );
    },
    // One under way says offsets of topics that are gone; begun anew it finds nothing there.
    [TOPICS.replays]: async (value) => {
      const read = await replays.decode(value);
      return read.ok && isOver(read.value.phase);
    },
  };
  const newIds = (topic: string, record: StoredRecord): StoredRecord => {
    const wire = readWire(record.value);
    const id = wire.ok ? ids.get(`${topic}/${wire.schemaId}`) : undefined;
    return wire.ok && id !== undefined ? { ...record, value: writeWire(id, wire.body) } : record;
  };
  if (TOPICS.erasures in manifest.topics) {
    await readTopicFile(folder, TOPICS.erasures, async (record) => {
      const { key, value } = newIds(TOPICS.erasures, record);
      const read = value === null ? null : await erasures.decode(value);
      if (key !== null && (read === null || read.ok)) list.apply(key, read?.value ?? null);
    });
  }
  const producer = await openFencedProducer(session.kafka, session.groupOf('backup.restore'));
  const counts: Record<string, number> = {};
  try {
    for (const topic of Object.keys(manifest.topics)) {
      const sieve = sieves[topic];
      const writer = inTransactions((records) => {
        const byPartition = Map.groupBy(records, ({ partition }) => partition);
        return producer.appendAll([...byPartition].map(([partition, some]) => [topic, partition, some.map(unplaced)]));
      });
      await readTopicFile(folder, topic, async (stored) => {
        const record = newIds(topic, stored);
        if (record.value === null || sieve === undefined || (await sieve(record.value))) await writer.add(record);
      });
      counts[topic] = await writer.end();
      say(`${topic}: ${counts[topic]} records`);
    }
  } finally {
    await producer.close();
  }
  return counts;
}

const unplaced = ({ key, value }: StoredRecord) => ({ key, value });

function inTransactions(write: (records: readonly StoredRecord[]) => Promise<void>) {
  let waiting: StoredRecord[] = [];
  let bytes = 0;
  let written = 0;
  async function flush(): Promise<void> {
    if (waiting.length === 0) return;
    await write(waiting);
    written += waiting.length;
    [waiting, bytes] = [[], 0];
  }
  return {
    async add(record: StoredRecord): Promise<void> {
      waiting.push(record);
      bytes += record.value?.length ?? 0;
      if (waiting.length >= RECORDS_AT_ONCE || bytes >= BYTES_AT_ONCE) await flush();
    },
    async end(): Promise<number> {
      await flush();
      return written;
    },
  };
}

/** By topic and id of before, the id that the registry of now gives to a schema. */
async function registerSchemas(url: string, prefix: string, { topics }: Manifest): Promise<Map<string, number>> {
  const texts = createSchemaTexts(url, prefix);
  const ids = new Map<string, number>();
  for (const [topic, { schemas }] of Object.entries(topics)) {
    const inOrder = Object.entries(schemas).toSorted(([a], [b]) => Number(a) - Number(b));
    for (const [id, text] of inOrder) ids.set(`${topic}/${id}`, await texts.register(topic, text));
  }
  return ids;
}

/**
 * Has carried out once more what was done after a moment: rows and links that were brought back may be theirs. Resolves to how many erasures
 * that are.
 */
export async function eraseAnew(
  { kafka, registryUrl }: BackupParts,
  session: KafkaSession,
  sinceMs: number,
  nowMs: number,
): Promise<number> {
  const codec = await createCodec<Erasure>(createRegistry(registryUrl, kafka), TOPICS.erasures, 'erasure');
  const all = await readFacts<Erasure, Map<string, Erasure>>({
    ...{ session, topic: TOPICS.erasures, codec, logger: createLogger('backup', 'silent') },
    ...{ empty: () => new Map(), apply: applyFact },
  });
  const anew = [...all.values()].flatMap((one) => erasedAnew(one, sinceMs, nowMs) ?? []);
  if (anew.length === 0) return 0;
  const producer = await openFencedProducer(session.kafka, session.groupOf('backup.restore'));
  try {
    const records = anew.map((one) => ({ key: one.erasure_id, value: codec.encode(one) }));
    await producer.append(TOPICS.erasures, 0, records);
  } finally {
    await producer.close();
  }
  return anew.length;
}
