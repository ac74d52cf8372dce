/** Where one node of the local cluster listens and has its data. */
export interface KafkaNode {
  folder: string;
  port: number;
  controllerPort: number;
  /** Its place among several nodes; absent for a single node. */
  cluster?: KafkaCluster;
  /** A second listener, on which clients are users with the rights that they are given; the first one has all rights. */
  sasl?: { port: number; passwords: Readonly<Record<string, string>> };
}

interface KafkaCluster {
  /** From 1. */
  nodeId: number;
  /** Controller ports of all nodes, in the order of their ids. */
  controllerPorts: readonly number[];
  /** How many copies each record has, and how many of them must be written before it is acknowledged. */
  replicas: number;
  inSyncMin: number;
}

const RECORD_BYTES_MAX = 8 * 1024 * 1024;

/** server.properties of a KRaft node with both roles, on loopback only. */
export function renderSettings(node: KafkaNode): string {
  const cluster = node.cluster ?? { nodeId: 1, controllerPorts: [node.controllerPort], replicas: 1, inSyncMin: 1 };
  const sasl = renderSasl(node.sasl);
  const voters = cluster.controllerPorts.map((port, index) => `${index + 1}@127.0.0.1:${port}`);
  const settings: Record<string, string | number> = {
    'process.roles': 'broker,controller',
    'node.id': cluster.nodeId,
    // A fixed voter list, not a dynamic quorum: it alone lets the port change between two starts.
    'controller.quorum.voters': voters.join(','),
    'controller.listener.names': 'CONTROLLER',
    listeners: [
      `PLAINTEXT://127.0.0.1:${node.port}`,
      ...sasl.listeners,
      `CONTROLLER://127.0.0.1:${node.controllerPort}`,
    ].join(),
    'advertised.listeners': [`PLAINTEXT://127.0.0.1:${node.port}`, ...sasl.listeners].join(),
    ...sasl.settings,
    'log.dirs': `${node.folder}/data`,
    'message.max.bytes': RECORD_BYTES_MAX,
    'replica.fetch.max.bytes': RECORD_BYTES_MAX,
    'auto.create.topics.enable': 'false',
    // Sixty days: longer than a topic has its records.
    'offsets.retention.minutes': 86_400,
    'offsets.topic.num.partitions': 4,
    'offsets.topic.replication.factor': cluster.replicas,
    'transaction.state.log.num.partitions': 4,
    'transaction.state.log.replication.factor': cluster.replicas,
    'transaction.state.log.min.isr': cluster.inSyncMin,
    'min.insync.replicas': cluster.inSyncMin,
    'default.replication.factor': cluster.replicas,
    'group.initial.rebalance.delay.ms': 0,
    // A broker that was killed may join again only when its old session has ended: after 12 s with the defaults of 9 s and 2 s.
    // A broker that sends no heartbeat for that long, on a busy machine, is fenced, with every group that it coordinates.
    'broker.session.timeout.ms': 6_000,
    'broker.heartbeat.interval.ms': 500,
    'log.cleaner.dedupe.buffer.size': 4 * 1024 * 1024,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

const LOGIN_MODULE = 'org.apache.kafka.common.security.plain.PlainLoginModule';

/** Who comes by the other listeners has no name, and may do everything. */
function renderSasl(sasl: KafkaNode['sasl']): { listeners: string[]; settings: Record<string, string> } {
  if (sasl === undefined) return { listeners: [], settings: {} };
  const users = Object.entries(sasl.passwords).map(([user, password]) => `user_${user}="${password}"`);
  return {
    listeners: [`SASL://127.0.0.1:${sasl.port}`],
    settings: {
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT',
      'sasl.enabled.mechanisms': 'PLAIN',
      'listener.name.sasl.plain.sasl.jaas.config': `${LOGIN_MODULE} required ${users.join(' ')};`,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
    },
  };
}
