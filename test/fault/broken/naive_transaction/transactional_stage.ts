import { randomUUID } from 'node:crypto';
import { failpoint } from '#infra/failpoint.ts';
import { consume } from '#infra/kafka/consumer/consume.ts';
import type { Consumption, InBatch } from '#infra/kafka/consumer/consumption.ts';
import { committedOffset } from '#infra/kafka/offsets.ts';
import { explicitPartitioner, perPartition } from '#infra/kafka/producers.ts';
import type { TransactionalStageOptions } from '#infra/kafka/transactional_stage.ts';

export * from '#infra/kafka/transactional_stage.ts';

/** Broken: the pattern of the client's documentation, a transactional id for each process and nobody fenced. */
export async function runTransactionalStage(options: TransactionalStageOptions): Promise<Consumption> {
  const producer = options.kafka.producer({
    transactionalId: `naive.${randomUUID()}`,
    maxInFlightRequests: 1,
    createPartitioner: explicitPartitioner,
  });
  await producer.connect();
  let turn = Promise.resolve();

  async function transact(batch: InBatch): Promise<undefined> {
    const last = batch.records.at(-1);
    if (last === undefined) return;
    const result = await options.transform(batch);
    const transaction = await producer.transaction();
    failpoint('stage.before_send');
    for (const [topic, partition, messages] of perPartition(result.outputs)) {
      await transaction.send({ topic, acks: -1, messages: messages.map((message) => ({ partition, ...message })) });
    }
    const topics = [
      { topic: batch.topic, partitions: [{ partition: batch.partition, offset: String(last.offset + 1) }] },
    ];
    await transaction.sendOffsets({ consumerGroupId: options.groupId, topics });
    await transaction.commit();
    result.committed();
  }

  /** One transaction at a time is all that one transactional id has. */
  function process(batch: InBatch): Promise<undefined> {
    const mine = turn.then(() => transact(batch));
    turn = mine.then(
      () => undefined,
      () => undefined,
    );
    return mine;
  }

  return consume({
    ...options,
    handlers: { acquire: (at) => committedOffset(options.admin, options.groupId, at), process },
  });
}
