import { createMutex } from '#infra/concurrency/mutex.ts';
import { createWatchdog, WATCHDOG_MS } from '#infra/concurrency/watchdog.ts';
import { PartitionLostError } from '#infra/errors.ts';
import { consume } from '#infra/kafka/consumer/consume.ts';
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { createGroupOffsets } from '#infra/kafka/consumer/group_offsets.ts';
import { endOf, type InBatch, type Leave } from '#infra/kafka/consumer/in_batch.ts';
import { openOffsetMarks } from '#infra/kafka/consumer/offset_marks.ts';
import { transactionalId } from '#infra/kafka/consumer/partition_group.ts';
import type { TopicPartition } from '#infra/kafka/consumer/partition_state.ts';
import { createPoisonPillGuard, type PoisonPillGuard } from '#infra/kafka/consumer/poison_pill_guard.ts';
import { openLeaders } from '#infra/kafka/producer/partition_leaders.ts';
import { openTopicIds } from '#infra/kafka/reader/topic_ids.ts';
import { createGather } from './grouped_flush.ts';
import { type GroupState, isOurs, type StageState } from './stage_state.ts';
import { commitParts } from './transaction.ts';
import { closeProducer, takeTransactionalId } from './transactional_id.ts';
import type { TransactionalStageOptions, TransformResult } from './transactional_stage_options.ts';

/**
 * Consume, transform, produce, in one Kafka transaction with the offsets.
 *
 * kafkajs commits transactional offsets without the group's generation, so ownership is fenced by hand. There is one
 * transactional id per consumer group, topic and partition group, and one member has the whole partition group. When it
 * takes the id, with no transaction of it in flight, it begins and aborts an empty transaction, which fences the previous
 * owner and ends what that had open; only then it reads the committed offset of each partition. What a partition read before
 * the id was taken again is not committed. After any error inside a transaction the producer is closed and made anew,
 * because the client may give a failed batch's sequence number to the next one.
 *
 * What the partitions of a group transform side by side goes in one transaction, which costs about the same for one of them
 * and for all. A batch that fails to transform fails by itself; when a transaction fails, each of its batches is taken again.
 *
 * What goes to one broker is sent in one request: a transaction of twelve partitions then needs a fifth of the requests that
 * one request per partition needs. It is sent once. The client may miss a partition or write it twice when it retries a
 * request of several partitions after a leader has moved; here the transaction is aborted, and the batches are taken again.
 */
export async function runTransactionalStage(options: TransactionalStageOptions): Promise<Consumption> {
  const stage = await openStage(options);
  const guard = guardOf(stage);
  const consumption = await consume({
    ...options,
    handlers: { acquire: (at, generation) => acquire(stage, guard, at, generation), process: guard.process },
  });
  return {
    ...consumption,
    async stop() {
      await consumption.stop();
      await Promise.all([...stage.groups.values()].map(closeProducer));
      await stage.close();
    },
  };
}

async function openStage(options: TransactionalStageOptions): Promise<StageState> {
  const ids = await openTopicIds(options.kafka);
  const marks = await openOffsetMarks(options, ids);
  const leaders = await openLeaders(options.kafka);
  return {
    options,
    groups: new Map(),
    offsets: createGroupOffsets(options.admin, options.groupId, marks),
    watchdog: createWatchdog({ limitMs: options.watchdogMs ?? WATCHDOG_MS, onFatal: options.onFatal }),
    leaders,
    async close() {
      await Promise.all([leaders.close(), marks.close().then(ids.close)]);
    },
  };
}

function guardOf(stage: StageState): PoisonPillGuard {
  const { transform, deadLetter, logger } = stage.options;
  return createPoisonPillGuard({
    commitMetadata: (batch, next, metadata) =>
      groupAt(stage, batch).gather.run(async () => ({ batch, outputs: [], next, metadata })),
    process: (batch) => passOn(stage, batch, transform),
    processSearched: (batch) => passOn(stage, batch, transform),
    deadLetter: deadLetter && ((batch) => passOn(stage, batch, async () => deadLetter(batch))),
    logger,
  });
}

function transactionalIdOf({ options }: StageState, at: TopicPartition): string {
  return transactionalId(options.groupId, at, options.partitionGroupSize ?? 1);
}

/** The state of the partition group that a partition lies in, made where there is none yet. */
function groupAt(stage: StageState, at: TopicPartition): GroupState {
  const id = transactionalIdOf(stage, at);
  const known = stage.groups.get(id);
  if (known !== undefined) return known;
  const group: GroupState = {
    turn: createMutex(),
    gather: createGather((parts) => group.turn.run(() => commitParts(stage, group, parts))),
    producer: null,
    generation: -1,
    acquired: new Map(),
  };
  stage.groups.set(id, group);
  return group;
}

async function acquire(
  stage: StageState,
  guard: PoisonPillGuard,
  at: TopicPartition,
  generation: number,
): Promise<number | null> {
  const group = groupAt(stage, at);
  const producer = await group.turn.run(() =>
    takeTransactionalId(stage, group, transactionalIdOf(stage, at), generation),
  );
  const found = await stage.offsets.of(at);
  group.acquired.set(at.partition, producer);
  guard.acquired(at, found?.metadata ?? '');
  return found === null ? null : found.offset;
}

/** Transforms a batch, and resolves when the transaction with its outputs and its offset is committed. */
async function passOn(
  stage: StageState,
  batch: InBatch,
  transform: TransactionalStageOptions['transform'],
): Promise<Leave | undefined> {
  const group = groupAt(stage, batch);
  const made = Promise.withResolvers<TransformResult>();
  await group.gather.run(async () => {
    if (!isOurs(group, batch)) throw new PartitionLostError('partition lost before its batch');
    const result = await transform(batch);
    made.resolve(result);
    return { batch, outputs: result.outputs, next: result.leave?.offset ?? endOf(batch), metadata: '' };
  });
  const result = await made.promise;
  result.committed();
  return result.leave;
}
