// Provisions topics and access rights; idempotent, reports what differs. Gives topics more partitions.

import { setTimeout as sleep } from 'node:timers/promises';
import type { AclEntry, Admin, Kafka } from 'kafkajs';
import kafkajs from 'kafkajs';
import type { KafkaRights, ProcessUser } from '#infra/rights/process_rights.ts';
import { isNotAuthorized, withAdmin } from './client.ts';
import { EVENT_TOPIC_DAYS, EVENT_TOPICS, TIMESTAMP_TYPE, type TopicDeclaration } from './topics.ts';

/** A difference between a declared topic and the one that exists. An operator decides what becomes of it. */
type TopicMismatch = { topic: string; setting: string; declared: string; found: string };

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
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const copies = replicationFactor < 3 ? {} : { 'min.insync.replicas': '2' };
    const declared = declarations.map((one) => ({ ...one, config: { ...one.config, ...copies } }));
    const missing = declared.filter(({ name }) => !existing.has(name));
    if (missing.length > 0) await createTopics(admin, missing, replicationFactor);
    const present = declared.filter(({ name }) => existing.has(name));
    const found = present.length === 0 ? [] : await findMismatches(admin, present);
    const [stamping, mismatches] = [found.filter(isStamping), found.filter((one) => !isStamping(one))];
    await setStamping(admin, stamping);
    mismatches.push(...(await offsetsForgottenEarly(admin)));
    return { created: missing.map(({ name }) => name), altered: stamping.map(({ topic }) => topic), mismatches };
  });
}

/** How many partitions a topic has; null where there is no such topic. */
export function partitionsOf(kafka: Kafka, topic: string): Promise<number | null> {
  return withAdmin(kafka, async (admin) => {
    if (!(await admin.listTopics()).includes(topic)) return null;
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.length ?? null;
  });
}

const LEADERS_WAIT_MS_MAX = 30_000;
const LEADERS_POLL_MS = 50;

/** The leaders are waited for here: the client's own waiting fails where a new topic is not yet known to all brokers. */
async function createTopics(
  admin: Admin,
  declarations: readonly TopicDeclaration[],
  replicationFactor: number,
): Promise<void> {
  const topics = declarations.map(({ name: topic, partitions: numPartitions, config }) => {
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
    return { topic, numPartitions, replicationFactor, configEntries };
  });
  await admin.createTopics({ topics, waitForLeaders: false });
  for (let waitedMs = 0; waitedMs < LEADERS_WAIT_MS_MAX; waitedMs += LEADERS_POLL_MS) {
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

/** What cannot be done to topics, in words. */
class GrowError extends Error {
  readonly code: 'topics_missing' | 'partitions_fewer' | 'partitions_not_taken';

  constructor(code: GrowError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const TAKEN_MS_MAX = 60_000;
const TAKEN_POLL_MS = 500;

interface GrowOptions {
  kafka: Kafka;
  /** Of the installation's groups. */
  prefix: string;
  count: number;
  say(line: string): void;
  nowMs(): number;
}

/**
 * Gives every topic of events so many partitions, those at the end of the flow first, so that no stage finds a record for a
 * partition that is not there; then waits until the stages have taken the new ones, which they do as they renew their metadata, ten
 * seconds at the most. Nothing is written there before processes are started with that number, so that it can be called again.
 *
 * @throws GrowError
 */
export function growTopics({ kafka, prefix, count, say, nowMs }: GrowOptions): Promise<{ grown: string[] }> {
  return withAdmin(kafka, async (admin) => {
    const before = new Map(
      (await admin.fetchTopicMetadata()).topics.map(({ name, partitions }) => [name, partitions.length]),
    );
    const missing = EVENT_TOPICS.filter((topic) => !before.has(topic));
    if (missing.length > 0) {
      throw new GrowError('topics_missing', `there is no topic ${missing.join(', ')}: provision first`);
    }
    const greater = EVENT_TOPICS.filter((topic) => (before.get(topic) ?? 0) > count);
    if (greater.length > 0) {
      const has = greater.map((topic) => `${topic} has ${before.get(topic)}`).join(', ');
      throw new GrowError('partitions_fewer', `topics do not become smaller: ${has}`);
    }
    const grown = EVENT_TOPICS.filter((topic) => before.get(topic) !== count).toReversed();
    for (const topic of grown) {
      await admin.createPartitions({ topicPartitions: [{ topic, count }] });
      say(`${topic} has ${count} partitions, instead of ${before.get(topic)}`);
    }
    const beganMs = nowMs();
    for (;;) {
      const left = await notTaken(admin, prefix, count);
      if (left.length === 0) break;
      if (nowMs() - beganMs > TAKEN_MS_MAX) {
        const who = left.join(', ');
        throw new GrowError('partitions_not_taken', `not all new partitions were taken by ${who}: see their logs`);
      }
      await sleep(TAKEN_POLL_MS);
    }
    say(`all stages that run have taken them after ${Math.ceil((nowMs() - beganMs) / 1000)} s`);
    return { grown };
  });
}

/** The groups whose members do not have all partitions of the topics that they read; one whose members are gone has none to take. */
async function notTaken(admin: Admin, prefix: string, count: number): Promise<string[]> {
  const { groups: listed } = await admin.listGroups();
  const names = listed.map(({ groupId }) => groupId).filter((name) => name.startsWith(`${prefix}.`));
  if (names.length === 0) return [];
  const { groups } = await admin.describeGroups(names);
  const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol;
  const hasAll = ({ members }: (typeof groups)[number]): boolean => {
    const read = new Set(members.flatMap(({ memberMetadata }) => MemberMetadata.decode(memberMetadata)?.topics ?? []));
    const had = members.flatMap(({ memberAssignment }) =>
      Object.entries(MemberAssignment.decode(memberAssignment)?.assignment ?? {}),
    );
    return EVENT_TOPICS.every((topic) => {
      const partitions = had.flatMap(([name, some]) => (name === topic ? some : []));
      return !read.has(topic) || partitions.length >= count;
    });
  };
  // While members join, brokers tell neither what these read nor what they have.
  return groups
    .filter((group) => group.members.length > 0 && (group.state !== 'Stable' || !hasAll(group)))
    .map(({ groupId }) => groupId);
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
  return present.flatMap(({ name: topic, partitions: count, config }) => [
    ...compare(topic, 'partitions', String(count), String(partitions.get(topic))),
    ...Object.entries(config).flatMap(([name, declared]) => {
      const found = settings.get(topic)?.find((entry) => entry.configName === name)?.configValue;
      return compare(topic, name, declared, found ?? 'unset');
    }),
  ]);
}

const isStamping = ({ setting }: TopicMismatch): boolean => setting === TIMESTAMP_TYPE;
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
      const kept = own.filter(({ configName }) => configName !== TIMESTAMP_TYPE);
      const declared = wanted.find(({ topic }) => topic === name)?.declared ?? '';
      const entries = kept.map(({ configName, configValue }) => ({ name: configName, value: configValue }));
      return { type, name, configEntries: [...entries, { name: TIMESTAMP_TYPE, value: declared }] };
    }),
  });
}

/**
 * What an event topic has kept may be there for another week, as whole segments are deleted. Where offsets are
 * forgotten before that, a stage that was away for that long begins anew with what it has done.
 */
const OFFSETS_MINUTES_MIN = (EVENT_TOPIC_DAYS + 7) * 24 * 60;
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

/** What a user may do with topics, groups or transactional ids. A name that ends in `*` stands for all that begin so. */
interface Grant {
  operation: 'Read' | 'Write' | 'Describe' | 'Delete';
  resource: 'topic' | 'group' | 'transactional-id';
  names: readonly string[];
}

/** @param prefix Of the installation's groups and transactional ids. */
function grantsOf(rights: KafkaRights, prefix: string): Grant[] {
  const groups = (names: readonly string[] = []): string[] =>
    names.flatMap((name) => [`${prefix}.${name}`, `${prefix}.${name}.*`]);
  const grants: Grant[] = [
    { operation: 'Read', resource: 'topic', names: rights.reads },
    { operation: 'Write', resource: 'topic', names: rights.writes },
    { operation: 'Describe', resource: 'topic', names: rights.describes ?? [] },
    { operation: 'Read', resource: 'group', names: groups(rights.groups) },
    { operation: 'Describe', resource: 'group', names: groups(rights.groupsDescribed) },
    { operation: 'Delete', resource: 'group', names: groups(rights.groupsDeleted) },
    {
      operation: 'Write',
      resource: 'transactional-id',
      names: (rights.transactionalIds ?? []).map((name) => `${prefix}.${name}.*`),
    },
  ];
  return grants.filter(({ names }) => names.length > 0);
}

const isPrefix = (name: string): boolean => name.endsWith('*');
const bare = (name: string): string => name.replace(/\*$/, '');

/**
 * The commands by which an administrator of the brokers gives the users their rights, of an installation whose KAFKA_TOPIC_PREFIX
 * the shell has as PREFIX; `kafka-acls.sh` takes names of one kind of pattern at a time.
 */
export function aclCommands(users: readonly ProcessUser[], prefix: string): string[] {
  return users.flatMap(({ user, rights }) =>
    grantsOf(rights.kafka, prefix).flatMap(({ operation, resource, names }) =>
      [...Map.groupBy(names, isPrefix)].map(([prefixed, some]) => {
        // In braces, or the shell would take what stands behind it for more of its name.
        const of = some.map((name) => `--${resource} \${PREFIX}${bare(name)}`).join(' ');
        const pattern = prefixed ? ' --resource-pattern-type prefixed' : '';
        return `$ACLS --allow-principal User:${user} --operation ${operation} ${of}${pattern}`;
      }),
    ),
  );
}

/** The rights of users as the brokers keep them. */
function aclEntries(users: readonly ProcessUser[], prefix: string): AclEntry[] {
  const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
  return users.flatMap(({ user, rights }) =>
    grantsOf(rights.kafka, prefix).flatMap(({ operation, resource, names }) =>
      names.map((name) => ({
        principal: `User:${user}`,
        host: '*',
        operation: AclOperationTypes[operation.toUpperCase() as Uppercase<Grant['operation']>],
        permissionType: AclPermissionTypes.ALLOW,
        resourceType:
          AclResourceTypes[resource.toUpperCase().replace('-', '_') as 'TOPIC' | 'GROUP' | 'TRANSACTIONAL_ID'],
        resourceName: bare(name),
        resourcePatternType: isPrefix(name) ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
      })),
    ),
  );
}

const nameOf = (entry: AclEntry): string => {
  const { principal, operation, permissionType, resourceType, resourceName, resourcePatternType } = entry;
  return [principal, operation, permissionType, resourceType, resourceName, resourcePatternType].join(' ');
};

/** Gives users their rights, and takes away what else these users have. The client must be one that may do so. */
export async function applyAcls(kafka: Kafka, users: readonly ProcessUser[], prefix: string): Promise<void> {
  const wanted = new Map(aclEntries(users, prefix).map((entry) => [nameOf(entry), entry]));
  const names = new Set(users.map(({ user }) => `User:${user}`));
  await withAdmin(kafka, async (admin) => {
    const there = await readAcls(admin);
    const known = new Set(there.map(nameOf));
    const missing = [...wanted].flatMap(([name, entry]) => (known.has(name) ? [] : [entry]));
    const surplus = there.filter((entry) => names.has(entry.principal) && !wanted.has(nameOf(entry)));
    if (missing.length > 0) await admin.createAcls({ acl: missing });
    if (surplus.length > 0) await admin.deleteAcls({ filters: surplus });
  });
}

async function readAcls(admin: Admin): Promise<AclEntry[]> {
  const { resources } = await admin.describeAcls({
    resourceType: kafkajs.AclResourceTypes.ANY,
    resourcePatternType: kafkajs.ResourcePatternTypes.ANY,
    operation: kafkajs.AclOperationTypes.ANY,
    permissionType: kafkajs.AclPermissionTypes.ANY,
  });
  return resources.flatMap(({ acls, ...resource }) => acls.map((acl): AclEntry => ({ ...resource, ...acl })));
}

/**
 * Rights that users lack, by user, of those users that have any; `off`: the brokers know no rights; `refused`: this client may
 * not ask.
 */
export async function missingAcls(
  admin: Admin,
  users: readonly ProcessUser[],
  prefix: string,
): Promise<ReadonlyMap<string, number> | 'off' | 'refused'> {
  const there = await readAcls(admin).catch((error: unknown) => {
    if ((error as { type?: unknown }).type === 'SECURITY_DISABLED') return 'off' as const;
    if (isNotAuthorized(error)) return 'refused' as const;
    throw error;
  });
  if (typeof there === 'string') return there;
  const known = new Set(there.map(nameOf));
  const having = users.filter(({ user }) => there.some(({ principal }) => principal === `User:${user}`));
  return new Map(
    having.map((one) => [one.user, aclEntries([one], prefix).filter((entry) => !known.has(nameOf(entry))).length]),
  );
}
