// A prefix before every name that a client has at the brokers: one cluster then serves several installations, and others.
import kafkajs, { type Kafka } from 'kafkajs';
import { clusterMakerOf } from './clusters.ts';

type Fields = Record<string, unknown>;
type Method = (request: unknown) => Promise<unknown>;
type Broker = Record<string, Method>;
interface Cluster {
  brokerPool: { createBroker(options: unknown): Broker };
}

/** Requests of kafkajs 2.2.4 that carry names, or are answered with names. */
const METHODS = [
  ...['metadata', 'produce', 'fetch', 'listOffsets', 'offsetCommit', 'offsetFetch', 'deleteRecords'],
  ...['createTopics', 'createPartitions', 'deleteTopics', 'describeConfigs', 'alterConfigs'],
  ...['findGroupCoordinator', 'joinGroup', 'syncGroup', 'heartbeat', 'leaveGroup'],
  ...['describeGroups', 'listGroups', 'deleteGroups'],
  ...['initProducerId', 'addPartitionsToTxn', 'addOffsetsToTxn', 'txnOffsetCommit', 'endTxn'],
  ...['createAcls', 'describeAcls', 'deleteAcls'],
];
/** Fields that hold the name of a topic, a group or a transactional id. */
const NAMES = ['topic', 'topicName', 'groupId', 'transactionalId'];
/** Fields that hold it where the type beside them says so: as a resource of settings, or of rights. */
const RESOURCES = { resourceName: 'resourceType', name: 'type' };
const TOPIC = 2;
const NAMED_TYPES = new Set<unknown>([TOPIC, 3, 5]);
/** Lists of texts that are names, or of objects with names in them. */
const LISTS = [
  ...['topics', 'topicData', 'topicMetadata', 'responses', 'topicErrors', 'topicPartitions', 'errors', 'results'],
  ...['groupIds', 'groups', 'members', 'groupAssignment', 'groupProtocols', 'resources', 'acl', 'filters'],
];
/** Answers to who asks for everything there is: what is of others is left out. */
const OF_ALL = new Set(['metadata', 'listGroups', 'describeAcls']);

const prefixes = new WeakMap<object, string>();

/** The prefix of a client, for requests that are encoded here; empty where it has none. */
export const prefixOf = (kafka: object): string => prefixes.get(kafka) ?? '';

/**
 * Puts a prefix before the names of topics, groups and transactional ids in all that a client asks, and takes it from all that it is
 * answered: the code has the names of an installation that is alone. What members of a group tell each other carries it as well,
 * as brokers look there for whether offsets are still needed.
 */
export function prefixNames(kafka: Kafka, prefix: string): void {
  if (prefix === '') return;
  prefixes.set(kafka, prefix);
  const { make: makeCluster, replaceBy } = clusterMakerOf<Cluster>(kafka);
  replaceBy((options) => {
    const cluster = makeCluster(options);
    const { brokerPool } = cluster;
    const make = brokerPool.createBroker;
    brokerPool.createBroker = (given) => prefixed(make(given), prefix);
    return cluster;
  });
}

function prefixed(broker: Broker, prefix: string): Broker {
  const add = (name: string): string => prefix + name;
  const strip = (name: string): string => (name.startsWith(prefix) ? name.slice(prefix.length) : name);
  for (const method of METHODS) {
    const send = (broker[method] as Method).bind(broker);
    broker[method] = async (request) => {
      try {
        const answer = await send(renamed(request, add));
        return renamed(OF_ALL.has(method) ? ownOf(answer as Fields, prefix) : answer, strip);
      } catch (error) {
        // The client goes on by the topic of an offset that is out of range.
        const { topic } = error as { topic?: unknown };
        if (typeof topic === 'string') Object.assign(error as object, { topic: strip(topic) });
        throw error;
      }
    };
  }
  return broker;
}

/** A request or an answer with other names, whose contents are the same. */
function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => (typeof one === 'string' ? rename(one) : renamed(one, rename)));
  if (typeof value !== 'object' || value === null) return value;
  const from = value as Fields;
  const to: Fields = { ...from };
  for (const name of NAMES) if (typeof from[name] === 'string') to[name] = rename(from[name]);
  for (const [name, type] of Object.entries(RESOURCES)) {
    if (typeof from[name] === 'string' && NAMED_TYPES.has(from[type])) to[name] = rename(from[name]);
  }
  for (const list of LISTS) if (Array.isArray(from[list])) to[list] = renamed(from[list], rename);
  for (const name of ['metadata', 'memberMetadata']) {
    if (Buffer.isBuffer(from[name])) to[name] = renamedMetadata(from[name], rename);
  }
  if (Buffer.isBuffer(from['memberAssignment'])) {
    to['memberAssignment'] = renamedAssignment(from['memberAssignment'], rename);
  }
  return to;
}

function renamedMetadata(bytes: Buffer, rename: (name: string) => string): Buffer {
  const { MemberMetadata } = kafkajs.AssignerProtocol;
  const found = bytes.length === 0 ? null : MemberMetadata.decode(bytes);
  return found === null ? bytes : MemberMetadata.encode({ ...found, topics: found.topics.map(rename) });
}

function renamedAssignment(bytes: Buffer, rename: (name: string) => string): Buffer {
  const { MemberAssignment } = kafkajs.AssignerProtocol;
  const found = MemberAssignment.decode(bytes);
  if (found === null) return bytes;
  const assignment = Object.fromEntries(
    Object.entries(found.assignment).map(([topic, partitions]) => [rename(topic), partitions]),
  );
  return MemberAssignment.encode({ ...found, assignment });
}

function ownOf(answer: Fields, prefix: string): Fields {
  const isOwn = (one: Fields): boolean => {
    const name = one['topic'] ?? one['groupId'] ?? one['resourceName'];
    const isNamed = one['resourceType'] === undefined || NAMED_TYPES.has(one['resourceType']);
    return !isNamed || (typeof name === 'string' && name.startsWith(prefix));
  };
  const lists = LISTS.filter((list) => Array.isArray(answer[list]));
  return { ...answer, ...Object.fromEntries(lists.map((list) => [list, (answer[list] as Fields[]).filter(isOwn)])) };
}
