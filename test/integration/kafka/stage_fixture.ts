import { afterAll, beforeAll, inject, onTestFinished } from 'vitest';
import type { Admin, Kafka } from '#infra/kafka/client.ts';
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { runTransactionalStage, type TransactionalStageOptions } from '#infra/kafka/transactional_stage.ts';
import type { LocalPart } from '#services/local/parts/part.ts';
import { createTopic, kafkaOf, quiet, SESSION_TIMEOUT_MS, uniqueName } from '#test/harness/kafka.ts';
import { useOwnParts } from '#test/harness/own_parts.ts';
import type {} from '#test/harness/shared_parts.ts';

export interface KafkaFixture {
  kafka: Kafka;
  admin: Admin;
  brokers: string;
}

/** The shared broker, for the tests of one file. */
export function useKafka(): () => KafkaFixture {
  return useClient(() => inject('parts').addresses.kafkaBrokers);
}

/** A broker of its own for the tests of one file, which they may kill. */
export function useOwnKafka(): () => KafkaFixture & { broker: LocalPart } {
  const parts = useOwnParts('kafka');
  const world = useClient(() => parts().addresses.kafkaBrokers);
  return () => {
    const broker = parts().parts.kafka;
    if (broker === undefined) throw new Error('no broker was started');
    return { ...world(), broker };
  };
}

function useClient(address: () => string): () => KafkaFixture {
  let world: KafkaFixture;
  beforeAll(async () => {
    const brokers = address();
    const kafka = kafkaOf(brokers);
    const admin = kafka.admin();
    await admin.connect();
    world = { kafka, admin, brokers };
  });
  afterAll(() => world.admin.disconnect());
  return () => world;
}

export interface Lane {
  groupId: string;
  input: string;
  output: string;
  offsets: string;
}

/** A group with topics of its own. */
export async function createLane({ kafka }: KafkaFixture, inputs: number, outputs: number): Promise<Lane> {
  return {
    groupId: uniqueName('group'),
    input: await createTopic(kafka, 'in', inputs),
    output: await createTopic(kafka, 'out', outputs),
    offsets: await createTopic(kafka, 'offsets', 1),
  };
}

/**
 * Runs a transactional stage as a member of the lane's group until the test ends or it is stopped. An unexpected end fails the test.
 * `given` takes the place of what a stage is usually run with.
 */
export async function joinStage(
  world: KafkaFixture,
  retryTopic: Lane,
  transform: TransactionalStageOptions['transform'],
  given: Partial<
    Pick<
      TransactionalStageOptions,
      'kafka' | 'admin' | 'logger' | 'onFatal' | 'onSkipped' | 'lingerMs' | 'partitionGroupSize' | 'drainMs' | 'emptyMs'
    >
  > = {},
): Promise<Consumption> {
  const consumption = await runTransactionalStage({
    kafka: given.kafka ?? kafkaOf(world.brokers, uniqueName('member')),
    admin: world.admin,
    groupId: retryTopic.groupId,
    topics: [retryTopic.input],
    offsetsTopic: retryTopic.offsets,
    sessionTimeoutMs: SESSION_TIMEOUT_MS,
    concurrency: 8,
    transform,
    logger: quiet,
    onFatal(error) {
      throw error;
    },
    ...given,
  });
  onTestFinished(() => consumption.stop());
  return consumption;
}

/** Passes each record on to the partition its number names. */
export function passOn(output: string, outputPartitions: number): TransactionalStageOptions['transform'] {
  return async (batch) => ({
    outputs: batch.records.map(({ value }) => ({
      topic: output,
      partition: Number(value?.toString().split('-').at(-1)) % outputPartitions,
      value: value ?? Buffer.alloc(0),
    })),
    committed: () => undefined,
  });
}

/** Whether the group has committed the end of the input: all records taken and none open. */
export async function isDone({ admin }: KafkaFixture, { groupId, input }: Lane): Promise<boolean> {
  const [ends, [topic]] = await Promise.all([
    admin.fetchTopicOffsets(input),
    admin.fetchOffsets({ groupId, topics: [input] }),
  ]);
  const committed = new Map(topic?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
  return ends.every(({ partition, high }) => Number(high) === 0 || committed.get(partition) === Number(high));
}

/** What the coordinator says of the group: "Stable" where each member has its partitions, "PreparingRebalance" while it waits for them. */
export async function stateOf({ admin }: KafkaFixture, { groupId }: Lane): Promise<string> {
  const [group] = (await admin.describeGroups([groupId])).groups;
  return group?.state ?? '';
}
