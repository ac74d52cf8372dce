/** Where one node of the local cluster listens and keeps its data. */
export interface KafkaNode {
  folder: string;
  port: number;
  controllerPort: number;
}

const RECORD_BYTES_MAX = 8 * 1024 * 1024;

/** server.properties of a single KRaft node with both roles, on loopback only. */
export function renderSettings(node: KafkaNode): string {
  const settings: Record<string, string | number> = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    // A fixed voter list, not a dynamic quorum: it alone lets the port change between two starts.
    'controller.quorum.voters': `1@127.0.0.1:${node.controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://127.0.0.1:${node.port},CONTROLLER://127.0.0.1:${node.controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${node.port}`,
    'log.dirs': `${node.folder}/data`,
    'message.max.bytes': RECORD_BYTES_MAX,
    'replica.fetch.max.bytes': RECORD_BYTES_MAX,
    'auto.create.topics.enable': 'false',
    'offsets.topic.num.partitions': 4,
    'offsets.topic.replication.factor': 1,
    'transaction.state.log.num.partitions': 4,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    // A broker that was killed is let back in only after its old session: 12 s with the defaults of 9 s and 2 s.
    'broker.session.timeout.ms': 3_000,
    'broker.heartbeat.interval.ms': 500,
    'log.cleaner.dedupe.buffer.size': 4 * 1024 * 1024,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
