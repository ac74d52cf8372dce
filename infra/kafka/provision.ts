import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin, type Kafka } from 'kafkajs';
import { STAMPED_BY, type TopicDeclaration } from './topics.ts';

/** A difference between a declared topic and the one that exists. An operator decides what becomes of it. */
export interface TopicMismatch {
  topic: string;
  setting: string;
  declared: string;
  found: string;
}

/**
 * Creates the declared topics that are missing and reports what differs in those that exist. Of these one thing is altered: whose
 * clock stamps new records. Idempotent. Where there are
 * three copies of a record or more, two must be written before it is acknowledged: with a broker's default of one, what
 * was acknowledged could go with a single disk. With fewer copies that is left to the brokers' setting.
 */
export async function provisionTopics(
  kafka: Kafka,
  declarations: readonly TopicDeclaration[],
  replicationFactor: number,
): Promise<{ created: string[]; altered: string[]; mismatches: TopicMismatch[] }> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const existing = new Set(await admin.listTopics());
    const declared = declarations.map((declaration) => withCopies(declaration, replicationFactor));
    const missing = declared.filter(({ name }) => !existing.has(name));
    if (missing.length > 0) await createTopics(admin, missing, replicationFactor);
    const present = declared.filter(({ name }) => existing.has(name));
    const found = present.length === 0 ? [] : await findMismatches(admin, present);
    const [stamping, mismatches] = [found.filter(isStamping), found.filter((one) => !isStamping(one))];
    await setStamping(admin, stamping);
    mismatches.push(...(await offsetsForgottenEarly(admin)));
    return { created: missing.map(({ name }) => name), altered: stamping.map(({ topic }) => topic), mismatches };
  } finally {
    await admin.disconnect();
  }
}

/** How many partitions a topic has; null where there is no such topic. */
export async function partitionsOf(kafka: Kafka, topic: string): Promise<number | null> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    if (!(await admin.listTopics()).includes(topic)) return null;
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.length ?? null;
  } finally {
    await admin.disconnect();
  }
}

function withCopies(declaration: TopicDeclaration, replicationFactor: number): TopicDeclaration {
  if (replicationFactor < 3) return declaration;
  return { ...declaration, config: { ...declaration.config, 'min.insync.replicas': '2' } };
}

const LEADERS_WAIT_MS_MAX = 30_000;
const LEADERS_POLL_MS = 50;

/** The leaders are waited for here: the client's own waiting fails where a new topic is not yet known to all brokers. */
async function createTopics(
  admin: Admin,
  declarations: readonly TopicDeclaration[],
  replicationFactor: number,
): Promise<void> {
  const topics = declarations.map((declaration) => creation(declaration, replicationFactor));
  await admin.createTopics({ topics, waitForLeaders: false });
  const attempts = LEADERS_WAIT_MS_MAX / LEADERS_POLL_MS;
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (await haveLeaders(admin, declarations)) return;
    await sleep(LEADERS_POLL_MS);
  }
  throw new TopicsNotReadyError('new topics have no leaders');
}

/** Topics were created, but the cluster does not serve them yet: provisioning may be run again. */
class TopicsNotReadyError extends Error {
  readonly code = 'topics_not_ready';
}

async function haveLeaders(admin: Admin, declarations: readonly TopicDeclaration[]): Promise<boolean> {
  const { topics } = await admin.fetchTopicMetadata();
  const led = new Map(
    topics.map(({ name, partitions }) => [name, partitions.filter(({ leader }) => leader >= 0).length]),
  );
  return declarations.every(({ name, partitions }) => led.get(name) === partitions);
}

function creation(declaration: TopicDeclaration, replicationFactor: number) {
  return {
    topic: declaration.name,
    numPartitions: declaration.partitions,
    replicationFactor,
    configEntries: Object.entries(declaration.config).map(([name, value]) => ({ name, value })),
  };
}

async function findMismatches(admin: Admin, present: readonly TopicDeclaration[]): Promise<TopicMismatch[]> {
  const [metadata, configs] = await Promise.all([
    admin.fetchTopicMetadata({ topics: present.map(({ name }) => name) }),
    admin.describeConfigs({
      includeSynonyms: false,
      resources: present.map(({ name, config }) => ({
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name,
        configNames: Object.keys(config),
      })),
    }),
  ]);
  const partitions = new Map(metadata.topics.map((topic) => [topic.name, topic.partitions.length]));
  const settings = new Map(configs.resources.map((resource) => [resource.resourceName, resource.configEntries]));
  return present.flatMap((declaration) => [
    ...compare(
      declaration.name,
      'partitions',
      String(declaration.partitions),
      String(partitions.get(declaration.name)),
    ),
    ...Object.entries(declaration.config).flatMap(([name, declared]) => {
      const found = settings.get(declaration.name)?.find((entry) => entry.configName === name)?.configValue;
      return compare(declaration.name, name, declared, found ?? 'unset');
    }),
  ]);
}

const isStamping = ({ setting }: TopicMismatch): boolean => setting === STAMPED_BY;
/** Of `configSource`: set for the topic, as distinct from a default of the brokers. */
const OF_TOPIC = 1;

/** The client replaces all settings of a topic at once, so those that it has go with the new one. */
async function setStamping(admin: Admin, wanted: readonly TopicMismatch[]): Promise<void> {
  if (wanted.length === 0) return;
  const type = kafkajs.ConfigResourceTypes.TOPIC;
  const names = wanted.map(({ topic }) => ({ type, name: topic }));
  const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: names });
  await admin.alterConfigs({
    validateOnly: false,
    resources: resources.map(({ resourceName: name, configEntries }) => {
      const own = configEntries.filter(({ configSource }) => Number(configSource) === OF_TOPIC);
      const kept = own.filter(({ configName }) => configName !== STAMPED_BY);
      const declared = wanted.find(({ topic }) => topic === name)?.declared ?? '';
      const entries = kept.map(({ configName, configValue }) => ({ name: configName, value: configValue }));
      return { type, name, configEntries: [...entries, { name: STAMPED_BY, value: declared }] };
    }),
  });
}

/**
 * What a topic has kept for nine days may be there for another week, as whole segments are deleted. Where offsets are
 * forgotten before that, a stage that was away for that long begins anew with what it has done.
 */
const OFFSETS_MINUTES_MIN = 16 * 24 * 60;
const OFFSETS_RETENTION = 'offsets.retention.minutes';

/** Nothing where the brokers do not say. */
async function offsetsForgottenEarly(admin: Admin): Promise<TopicMismatch[]> {
  const { brokers } = await admin.describeCluster();
  const resources = brokers.map(({ nodeId }) => ({
    type: kafkajs.ConfigResourceTypes.BROKER,
    name: String(nodeId),
    configNames: [OFFSETS_RETENTION],
  }));
  const described = await admin.describeConfigs({ includeSynonyms: false, resources }).catch(() => null);
  return (described?.resources ?? []).flatMap(({ resourceName, configEntries }) => {
    const found = configEntries.find(({ configName }) => configName === OFFSETS_RETENTION)?.configValue;
    if (found === undefined || Number(found) >= OFFSETS_MINUTES_MIN) return [];
    const declared = `${OFFSETS_MINUTES_MIN} or more`;
    return [{ topic: `__consumer_offsets (broker ${resourceName})`, setting: OFFSETS_RETENTION, declared, found }];
  });
}

function compare(topic: string, setting: string, declared: string, found: string): TopicMismatch[] {
  return declared === found ? [] : [{ topic, setting, declared, found }];
}
