import type { Admin } from 'kafkajs';
import type { ConsumeOptions } from '#infra/kafka/consumer/consume_options.ts';
import type { InBatch, Leave } from '#infra/kafka/consumer/in_batch.ts';
import type { OutRecord } from '#infra/kafka/record.ts';

/** What a stage made of a batch. */
export interface TransformResult {
  outputs: OutRecord[];
  /** Called once the transaction has committed: the place to count. */
  committed(): void;
  /** Where records are left for later; absent if all were taken. */
  leave?: Leave;
}

/**
 * What `consume` asks for, which this calls. A transaction costs about the same for ten events and for a thousand, so
 * `lingerMs` and `fetchBytesMin` matter.
 */
export interface TransactionalStageOptions extends Omit<ConsumeOptions, 'handlers' | 'onEmpty'> {
  admin: Admin;
  transform(batch: InBatch): Promise<TransformResult>;
  /** Makes a dead letter of the one record of a batch because it kills the process. Absent: it is tried for ever. */
  deadLetter?(batch: InBatch): TransformResult | Promise<TransformResult>;
}
