// How a client makes its clusters, one for each of its consumers, producers and admins, under a symbol of its own.
import type { Kafka, RetryOptions } from 'kafkajs';

type MakeCluster<Cluster> = (options: object) => Cluster;

/** What makes the clusters of a client (kafkajs 2.2.4), or of the one that it derives from; and a way to put something else there. */
export function clusterMakerOf<Cluster extends object>(kafka: Kafka) {
  const owner: object = Object.getOwnPropertySymbols(kafka).length > 0 ? kafka : Object.getPrototypeOf(kafka);
  const symbol = Object.getOwnPropertySymbols(owner).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  if (symbol === undefined) throw new Error('the client makes no clusters');
  return {
    make: Reflect.get(owner, symbol) as MakeCluster<Cluster>,
    replaceBy: (make: MakeCluster<Cluster>): void => void Reflect.set(owner, symbol, make),
  };
}

/**
 * Says how transactional producers retry, whatever the client is told. They read it from their cluster, which nobody tells
 * (tulios/kafkajs#851 fixed the other producers alone): they would try five times more, the first time after 300 ms, where brokers mostly
 * have ended the transaction before after five.
 */
export function passRetries(kafka: Kafka, retry: RetryOptions): void {
  const { make, replaceBy } = clusterMakerOf(kafka);
  replaceBy((options) => Object.assign(make(options), { retry }));
}
