import { failpoint } from '#infra/failpoint.ts';
import { consume } from '#infra/kafka/consumer/consume.ts';
import type { Consumption, Deferral, InBatch } from '#infra/kafka/consumer/consumption.ts';
import { committedOffset } from '#infra/kafka/offsets.ts';
import { createKeyedProducer } from '#infra/kafka/producers.ts';
import type { TransactionalStageOptions } from '#infra/kafka/transactional_stage.ts';

export * from '#infra/kafka/transactional_stage.ts';

/** Broken: the offset is committed first, then what is to be tried again is written. */
export async function runTransactionalStage(options: TransactionalStageOptions): Promise<Consumption> {
  const producer = await createKeyedProducer(options.kafka);

  async function process(batch: InBatch): Promise<Deferral | undefined> {
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
