import type { Consumer } from 'kafkajs';
import type { Kafka } from '#infra/kafka/client.ts';
import { kafkaOf, uniqueName } from '#test/harness/kafka.ts';

/** What the consumers of a client have done. */
export interface Watched {
  /** Records that were fetched, and queued where there was room. */
  fetched: number;
  /** Heartbeats that the coordinator has answered: each of them begins the session anew. */
  heartbeats: number;
  /** Times that the group was joined. */
  joined: number;
  /** Requests to join the group that were begun. */
  joining: number;
}

/** A client of which is counted what its consumers do. */
export function watchedConsumers(brokers: string): { kafka: Kafka; watched: Watched } {
  const kafka = kafkaOf(brokers, uniqueName('member'));
  const watched: Watched = { fetched: 0, heartbeats: 0, joined: 0, joining: 0 };
  // The client asks each assigner for its part of the request; this one is never chosen, as it is the last.
  const counting = () => ({
    name: 'counting',
    version: 0,
    assign: () => Promise.resolve([]),
    protocol: () => {
      watched.joining++;
      return { name: 'counting', metadata: Buffer.alloc(0) };
    },
  });
  const consumer: Kafka['consumer'] = (config) => {
    const made: Consumer = kafka.consumer({
      ...config,
      partitionAssigners: [...(config.partitionAssigners ?? []), counting],
    });
    made.on(made.events.END_BATCH_PROCESS, ({ payload }) => {
      watched.fetched += payload.batchSize;
    });
    made.on(made.events.HEARTBEAT, () => {
      watched.heartbeats++;
    });
    made.on(made.events.GROUP_JOIN, () => {
      watched.joined++;
    });
    return made;
  };
  return { kafka: Object.assign(Object.create(kafka) as Kafka, { consumer }), watched };
}
