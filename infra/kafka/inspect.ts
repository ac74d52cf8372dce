// What a cluster says of itself, for `svc doctor`: its topics, settings, rights, features and disks.

import type { Admin, Kafka } from 'kafkajs';
import kafkajs from 'kafkajs';
import type { ProcessUser } from '#infra/rights/process_rights.ts';
import { type Decoder, isNotAuthorized, openCluster, requestOf, textOf, withAdmin } from './client.ts';
import { missingAcls } from './provision.ts';

export type KafkaFacts = Awaited<ReturnType<typeof inspectKafka>>;

export interface TopicFacts {
  partitions: number;
  /** Of the partition that has the fewest. */
  copies: number;
  /** Partitions of which a copy is behind, and partitions that nobody leads. */
  behind: number;
  leaderless: number;
  settings: Readonly<Record<string, string>>;
}

const TOPIC_SETTINGS = [
  'cleanup.policy',
  'retention.ms',
  'max.message.bytes',
  'message.timestamp.type',
  'min.insync.replicas',
  'unclean.leader.election.enable',
];
const BROKER_SETTINGS = [
  'auto.create.topics.enable',
  'offsets.retention.minutes',
  'offsets.topic.replication.factor',
  'replica.fetch.max.bytes',
  'transaction.state.log.min.isr',
  'transaction.state.log.replication.factor',
];

/**
 * Asks for what may be known of topics of these names, of the brokers, and of the rights of these users. What this client may
 * not read is null.
 *
 * @param prefix Of the installation's groups and transactional ids.
 */
export function inspectKafka(kafka: Kafka, names: readonly string[], users: readonly ProcessUser[], prefix: string) {
  return withAdmin(kafka, async (admin) => {
    const { brokers } = await admin.describeCluster();
    const { topics: all } = await admin.fetchTopicMetadata();
    const there = all.filter(({ name }) => names.includes(name));
    const ids = brokers.map(({ nodeId }) => String(nodeId));
    const [ofTopics, ofBrokers, acls, { levelMax, disks }] = await Promise.all([
      settingsOf(
        admin,
        kafkajs.ConfigResourceTypes.TOPIC,
        there.map(({ name }) => name),
        TOPIC_SETTINGS,
      ),
      settingsOf(admin, kafkajs.ConfigResourceTypes.BROKER, ids, BROKER_SETTINGS),
      missingAcls(admin, users, prefix),
      askBrokers(kafka, ids),
    ]);
    const topics = there.map(({ name, partitions }): [string, TopicFacts] => [
      name,
      {
        partitions: partitions.length,
        copies: Math.min(...partitions.map(({ replicas }) => replicas.length)),
        behind: partitions.filter(({ replicas, isr }) => isr.length < replicas.length).length,
        leaderless: partitions.filter(({ leader }) => leader < 0).length,
        settings: ofTopics?.get(name) ?? {},
      },
    ]);
    return { brokers: ids, topics: new Map(topics), brokerSettings: ofBrokers, acls, levelMax, disks };
  });
}

/** Values by name; null where they may not be read. */
async function settingsOf(
  admin: Admin,
  type: number,
  names: readonly string[],
  configNames: string[],
): Promise<Map<string, Record<string, string>> | null> {
  if (names.length === 0) return new Map();
  const resources = names.map((name) => ({ type, name, configNames }));
  const found = await admin.describeConfigs({ includeSynonyms: false, resources }).catch(refusedAsNull);
  return (
    found &&
    new Map(
      found.resources.map(({ resourceName, configEntries }) => [
        resourceName,
        Object.fromEntries(configEntries.map(({ configName, configValue }) => [configName, configValue])),
      ]),
    )
  );
}

/** What the client is not allowed to ask is not known; anything else is an error. */
function refusedAsNull(error: unknown): null {
  if (isNotAuthorized(error)) return null;
  throw error;
}

const API_VERSIONS = { key: 18, version: 3 };
/** From version 4 on with the bytes that are free. */
const LOG_DIRS = { key: 35, version: 4 };
const NAME = textOf('svc');

/** By requests that the client (kafkajs 2.2.4) does not know, over connections of their own. */
async function askBrokers(kafka: Kafka, ids: readonly string[]) {
  const cluster = await openCluster(kafka);
  try {
    await cluster.refreshMetadata();
    const brokers = await Promise.all(
      ids.map(async (nodeId) => ({ nodeId, broker: await cluster.findBroker({ nodeId }) })),
    );
    const disks = brokers.map(async ({ nodeId, broker }) => {
      if ((broker.versions[LOG_DIRS.key]?.maxVersion ?? 0) < LOG_DIRS.version) return [];
      // No topics, tagged fields.
      const exchange = requestOf('DescribeLogDirs', LOG_DIRS, Buffer.of(1, 0), readDisks);
      const found = await broker.connectionPool.send<DiskFacts[]>(exchange);
      return found.map((disk) => ({ broker: nodeId, ...disk }));
    });
    const levels = brokers.map(({ broker }) =>
      broker.connectionPool.send<number | null>(
        requestOf('ApiVersions', API_VERSIONS, Buffer.concat([NAME, NAME, Buffer.of(0)]), readLevel),
      ),
    );
    const known = (await Promise.all(levels)).filter((level) => level !== null);
    return { levelMax: known.length === 0 ? null : Math.max(...known), disks: (await Promise.all(disks)).flat() };
  } finally {
    await cluster.disconnect();
  }
}

interface DiskFacts {
  folder: string;
  freeBytes: number;
  totalBytes: number;
}

/** The disks of a broker; none where this client may not ask. */
function readDisks(from: Decoder): DiskFacts[] {
  from.readTaggedFields();
  from.readInt32(); // throttling
  if (from.readInt16() !== 0) return [];
  return Array.from({ length: from.readUVarInt() - 1 }, () => {
    from.readInt16(); // error of the folder
    const folder = from.readUVarIntString() ?? '';
    from.readUVarInt(); // topics: none were asked for
    const [totalBytes, freeBytes] = [Number(from.readInt64()), Number(from.readInt64())];
    from.readTaggedFields();
    return { folder, freeBytes, totalBytes };
  }).filter(({ totalBytes }) => totalBytes > 0);
}

/** The highest level of `metadata.version` that a broker has, which grows with each release; null where it does not say. */
function readLevel(from: Decoder): number | null {
  if (from.readInt16() !== 0) return null;
  for (let left = from.readUVarInt() - 1; left > 0; left--) {
    from.offset += 6; // key, lowest and highest version
    from.readTaggedFields();
  }
  from.readInt32(); // throttling
  for (let left = from.readUVarInt(); left > 0; left--) {
    const [tag, size] = [from.readUVarInt(), from.readUVarInt()];
    const end = from.offset + size;
    for (let features = tag === 0 ? from.readUVarInt() - 1 : 0; features > 0; features--) {
      const name = from.readUVarIntString();
      from.readInt16();
      const highest = from.readInt16();
      if (name === 'metadata.version') return highest;
      from.readTaggedFields();
    }
    from.offset = end;
  }
  return null;
}
