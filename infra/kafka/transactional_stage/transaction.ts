import { setTimeout as sleep } from 'node:timers/promises';
import type { Producer, Transaction } from 'kafkajs';
import { PartitionLostError } from '#infra/errors.ts';
import { failpoint } from '#infra/failpoint/failpoint.ts';
import { COMPRESSION } from '#infra/kafka/producer/compression.ts';
import type { Logger } from '#infra/log/logger.ts';
import { type GroupState, isOurs, type Part, type StageState } from './stage_state.ts';
import { closeProducer } from './transactional_id.ts';

/** Commits the parts whose partitions are still ours. Answers for each part null, or the error that it failed with. */
export async function commitParts(
  stage: StageState,
  group: GroupState,
  parts: readonly Part[],
): Promise<(Error | null)[]> {
  const { producer } = group;
  const ours = parts.filter(({ batch }) => isOurs(group, batch));
  if (producer !== null && ours.length > 0) {
    try {
      await stage.watchdog.watch('a transaction', () => transact(stage, producer, ours));
    } catch (error) {
      await stage.watchdog.watch('closing a producer', () => closeProducer(group));
      throw error;
    }
  }
  return parts.map((part) =>
    ours.includes(part) ? null : new PartitionLostError('partition lost before its transaction'),
  );
}

async function transact(stage: StageState, producer: Producer, parts: readonly Part[]): Promise<void> {
  const { leaders, offsets, options } = stage;
  const requests = await leaders.requestsOf(parts.flatMap(({ outputs }) => outputs));
  const transaction = await producer.transaction();
  // A transaction that only writes metadata sends nothing, and passes no failpoint.
  const at = parts.some(({ metadata }) => metadata === '') ? failpoint : () => undefined;
  try {
    await beginWithOffsets(transaction, options.groupId, parts);
    at('stage.after_offsets');
    for (const topicMessages of requests) {
      at('stage.before_send');
      await transaction.sendBatch({ topicMessages, acks: -1, compression: COMPRESSION });
      at('stage.after_send');
    }
    await transaction.commit();
    for (const { batch, next, metadata } of parts) offsets.passed(batch, { offset: next, metadata });
    at('stage.after_commit');
  } catch (error) {
    leaders.forget();
    await abort(transaction, options.logger);
    throw error;
  }
}

async function abort(transaction: Transaction, logger: Logger): Promise<void> {
  if (!transaction.isActive()) return;
  // The next owner's fence ends the transaction if this abort does not arrive.
  await transaction.abort().catch((failure: unknown) => logger.info({ err: failure }, 'abort not confirmed'));
}

const BEGIN_TRIES_MAX = 100;
const BEGIN_WAIT_MS = 5;

/**
 * Begins the transaction with the offsets. While the broker still ends the transaction before, it begins nothing, and is
 * asked again.
 */
async function beginWithOffsets(transaction: Transaction, groupId: string, parts: readonly Part[]): Promise<void> {
  const topics = [...Map.groupBy(parts, ({ batch }) => batch.topic)].map(([topic, ofTopic]) => ({
    topic,
    partitions: ofTopic.map(({ batch: { partition }, next, metadata }) => ({
      partition,
      offset: String(next),
      metadata,
    })),
  }));
  for (let tries = 1; ; tries++) {
    try {
      return await transaction.sendOffsets({ consumerGroupId: groupId, topics });
    } catch (error) {
      if ((error as { type?: unknown }).type !== 'CONCURRENT_TRANSACTIONS' || tries === BEGIN_TRIES_MAX) throw error;
      await sleep(BEGIN_WAIT_MS);
    }
  }
}
