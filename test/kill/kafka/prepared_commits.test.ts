import { expect, test } from 'vitest';
import { explicitPartitioner } from '#infra/kafka/producers.ts';
import { createTopic, differences, type Found, kafkaOf, readCommitted, uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { type KafkaFixture, useOwnKafka } from '#test/integration/kafka/stage_fixture.ts';

const PARTITIONS = 4;
/** So many that some are always between the decision to commit and its markers. */
const PRODUCERS = 24;
const ROUNDS = 2;
/** Other partitions, as many as the service has: a broker that starts takes some time for them. */
const OTHERS = 200;
/** Commits of all producers before the broker dies, however slow the machine is. */
const COMMITS_MIN = 4 * PRODUCERS;
/** Short, as what was open when the broker died is waited for by readers. */
const TRANSACTION_TIMEOUT_MS = 5_000;
/** Several times what the broker takes to end what nobody will commit; a partition without its markers stays open for good. */
const kafka = useOwnKafka();

/** Commits one record after the other until it is told to stop or fails; answers what was acknowledged and what was not. */
async function commitUntil(
  { brokers }: KafkaFixture,
  topic: string,
  place: number,
  stopped: () => boolean,
  onCommit: () => void,
): Promise<{ acknowledged: string[]; unknown: string | null }> {
  const producer = kafkaOf(brokers).producer({
    transactionalId: uniqueName('prepared'),
    maxInFlightRequests: 1,
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    createPartitioner: explicitPartitioner,
  });
  await producer.connect();
  const acknowledged: string[] = [];
  for (let number = 0; !stopped(); number++) {
    const value = `${topic}-${place}-${number}`;
    try {
      const transaction = await producer.transaction();
      await transaction.send({ topic, acks: -1, messages: [{ partition: place % PARTITIONS, value }] });
      await transaction.commit();
      acknowledged.push(value);
      onCommit();
    } catch {
      return { acknowledged, unknown: value };
    }
  }
  await producer.disconnect();
  return { acknowledged, unknown: null };
}

/**
 * A transaction whose commit was acknowledged has its markers written after a restart of the broker. Kafka 4.3.0 and 4.3.1
 * leave them out for partitions that have no leader at that moment, as if their topics were deleted
 * (KRaftMetadataCache.getPartitionLeaderEndpoint): decision 15.
 */
test('a broker killed under load finishes the transactions it had decided to commit', {
  timeout: 180_000,
}, async () => {
  const world = kafka();
  await createTopic(world.kafka, 'others', OTHERS);
  for (let round = 1; round <= ROUNDS; round++) {
    const topic = await createTopic(world.kafka, 'prepared', PARTITIONS);
    let isOver = false;
    let commits = 0;
    const producing = Array.from({ length: PRODUCERS }, (_, place) =>
      commitUntil(
        world,
        topic,
        place,
        () => isOver,
        () => commits++,
      ),
    );
    await until('commits', () => commits >= COMMITS_MIN);
    isOver = true;
    world.broker.kill('SIGKILL');
    await until('the broker to be gone', () => world.broker.pid === undefined);
    await world.broker.start();
    const ended = await Promise.all(producing);
    const unknown = new Set(ended.map((one) => one.unknown));
    let read: Found[] | null = null;
    const reading = readCommitted(world.kafka, topic, PARTITIONS).then((found) => {
      read = found;
    });
    await until('no transaction to be open any more', () => read !== null);
    await reading;
    const found = (read ?? []).filter(({ value }) => !unknown.has(value));
    const acknowledged = ended.flatMap((one) => one.acknowledged);
    expect(acknowledged.length).toBeGreaterThanOrEqual(COMMITS_MIN);
    expect(differences(found, acknowledged)).toEqual([]);
  }
});
