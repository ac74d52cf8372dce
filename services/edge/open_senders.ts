import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import type { EdgeConfig } from '#infra/config/edge_config.ts';
import { createKafka } from '#infra/kafka/client.ts';
import { createSender, type PartitionSender } from '#infra/kafka/producer/sender.ts';
import type { Runtime } from '#services/runtime.ts';

/** Bytes of one produce request. */
const REQUEST_BYTES_MAX = 1024 * 1024;
/** Retries inside the client; beyond them the answer is 503 and the events are the client's still. */
const SEND_RETRIES = 8;

/** The edge's way into Kafka. */
export interface Senders {
  /** A sender to a topic, which ends with the process. */
  open(topic: string): Promise<PartitionSender>;
}

export function openSenders({ session, logger, fatal, onStop, clusterAlive }: Runtime, config: EdgeConfig): Senders {
  const kafka = createKafka(session.config, 'svc.edge.sender', logger, SEND_RETRIES);
  return {
    async open(topic) {
      const sender = await createSender({
        kafka,
        topic,
        requestBytesMax: REQUEST_BYTES_MAX,
        queuedBytesMax: config.queuedBytesMax,
        deadlineMs: config.acknowledgeMs,
        nowMs: monotonicMs,
        watchdogMs: session.config.watchdogMs,
        isClusterAlive: clusterAlive,
        onFatal: fatal,
      });
      onStop(() => sender.stop());
      return sender;
    },
  };
}
