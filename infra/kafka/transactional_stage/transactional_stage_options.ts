import type { Admin, Kafka } from 'kafkajs';
import type { InBatch, Leave } from '#infra/kafka/consumer/in_batch.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import type { Logger } from '#infra/log/logger.ts';

/** What a stage made of a batch. */
export interface TransformResult {
  outputs: OutRecord[];
  /** Called once the transaction has committed: the place to count. */
  committed(): void;
  /** Where records are left for later; absent if all were taken. */
  leave?: Leave;
}

export interface TransactionalStageOptions {
  kafka: Kafka;
  admin: Admin;
  groupId: string;
  topics: readonly string[];
  sessionTimeoutMs: number;
  concurrency: number;
  bytesPerPartitionMax?: number;
  /** As `consume` has them. A transaction costs about the same for ten events and for a thousand. */
  fetchBytesMin?: number;
  lingerMs?: number;
  partitionGroupSize?: number;
  watchdogMs?: number;
  drainMs?: number;
  transform(batch: InBatch): Promise<TransformResult>;
  /** Makes a dead letter of the one record of a batch because it kills the process. Absent: it is tried for ever. */
  deadLetter?(batch: InBatch): TransformResult;
  logger: Logger;
  /** As `consume` has it. */
  onSkipped?(topic: string, offsets: number): void;
  onFatal(error: unknown): void;
}
