import type { Producer } from 'kafkajs';
import { PartitionLostError } from '#infra/errors.ts';
import { chosenPartition } from '#infra/kafka/producer/chosen_partition.ts';
import type { GroupState, StageState } from './stage_state.ts';

const TRANSACTION_TIMEOUT_MS = 60_000;

/** Takes the group's transactional id and fences its former owner: once in each generation, and after an error. */
export async function takeTransactionalId(
  { options }: StageState,
  group: GroupState,
  id: string,
  generation: number,
): Promise<Producer> {
  if (group.producer !== null && group.generation === generation) return group.producer;
  // Who waited through a drain that took too long would close what the partition's next owner has taken.
  if (generation < group.generation) throw new PartitionLostError('partition lost before its id was taken');
  await closeProducer(group);
  const producer = options.kafka.producer({
    transactionalId: id,
    maxInFlightRequests: 1,
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    allowAutoTopicCreation: false,
    createPartitioner: chosenPartition,
    retry: { retries: 0 },
  });
  await producer.connect();
  group.producer = producer;
  // If the fence fails, the next call that takes the id sets it.
  group.generation = -1;
  const fence = await producer.transaction();
  await fence.abort();
  group.generation = generation;
  return producer;
}

export async function closeProducer(group: GroupState): Promise<void> {
  const { producer } = group;
  group.producer = null;
  group.acquired.clear();
  await producer?.disconnect();
}
