import type { Kafka } from 'kafkajs';

/** What a broker of the client takes (kafkajs 2.2.4). */
interface Broker {
  versions: Readonly<Record<number, { maxVersion: number }>>;
  connectionPool: { send(exchange: { request: object; response: object }): Promise<string> };
  offsetCommit(request: {
    groupId: string;
    groupGenerationId: number;
    memberId: string;
    topics: { topic: string; partitions: { partition: number; offset: string; metadata: string }[] }[];
  }): Promise<unknown>;
}

/** Connections to the brokers for requests that the client has no function for. */
export interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  findControllerBroker(): Promise<Broker>;
  findGroupCoordinator(of: { groupId: string }): Promise<Broker>;
}

type ClusterOptions = { metadataMaxAge: number; allowAutoTopicCreation: boolean };

const METADATA_AGE_MS = 300_000;

/** Opens one. The client makes one for each consumer, producer and admin, and hands none out. */
export async function openCluster(kafka: Kafka): Promise<Cluster> {
  const own: Kafka = Object.getOwnPropertySymbols(kafka).length > 0 ? kafka : Object.getPrototypeOf(kafka);
  const name = Object.getOwnPropertySymbols(own).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  if (name === undefined) throw new Error('the client makes no clusters');
  const create = Reflect.get(own, name) as (options: ClusterOptions) => Cluster;
  const cluster = create({ metadataMaxAge: METADATA_AGE_MS, allowAutoTopicCreation: false });
  await cluster.connect();
  return cluster;
}
