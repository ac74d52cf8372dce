import { failpoint } from '#infra/failpoint/failpoint.ts';
import { consume } from '#infra/kafka/consumer/consume.ts';
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { committedOffset } from '#infra/kafka/consumer/group_offsets.ts';
import type { InBatch, Leave } from '#infra/kafka/consumer/in_batch.ts';
import { createKeyedProducer } from '#infra/kafka/producer/keyed_producer.ts';
import type { TransactionalStageOptions } from '#infra/kafka/transactional_stage/transactional_stage_options.ts';

export * from '#infra/kafka/transactional_stage/transactional_stage.ts';

/** Broken: the offset is committed first, then what is to be tried again is written. */
export async function runTransactionalStage(options: TransactionalStageOptions): Promise<Consumption> {
  const producer = await createKeyedProducer(options.kafka);

  async function process(batch: InBatch): Promise<Leave | undefined> {
    const last = batch.records.at(-1);
    if (last === undefined) return undefined;
    const result = await options.transform(batch);
    await consumption.commit(batch, result.leave?.offset ?? last.offset + 1, '');
    failpoint('stage.after_commit');
    await producer.send(result.outputs);
    result.committed();
    return result.leave;
  }

  const consumption = await consume({
    ...options,
    handlers: { acquire: (at) => committedOffset(options.admin, options.groupId, at), process },
  });
  return consumption;
}
