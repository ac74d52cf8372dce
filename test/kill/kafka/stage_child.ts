// A member of a transactional stage's group in a process of its own, so that it can be stalled or killed.
import { writeSync } from 'node:fs';
import type { InBatch } from '#infra/kafka/consumer/consumption.ts';
import { explicitPartitioner } from '#infra/kafka/producers.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { runTransactionalStage, type TransformResult } from '#infra/kafka/transactional_stage.ts';
import { kafkaOf, quiet, SESSION_TIMEOUT_MS } from '#test/harness/kafka.ts';

export interface StageChildOptions {
  name: string;
  brokers: string;
  groupId: string;
  input: string;
  output: string;
  offsets: string;
  outputPartitions: number;
  /** fenced: infra's transactional stage. naive: the pattern of the client's documentation, a transactional id for each process. */
  variant: 'fenced' | 'naive';
  /** As `runTransactionalStage` has it. */
  partitionGroupSize?: number;
  /** Block the whole process this long in the first batch. */
  stallMs?: number;
  /** Die by SIGKILL in the first transaction, before its records are sent or before it is committed. */
  dieBefore?: 'sendBatch' | 'commit';
  /** Die by SIGKILL whenever this value is among those of a batch. */
  killer?: string;
}

const options = JSON.parse(process.argv[2] ?? '{}') as StageChildOptions;
const say = (line: string): void => void writeSync(1, `${line}\n`);
const kafka = kafkaOf(options.brokers, options.name);
let stalled = false;

function transform(values: readonly string[]): OutRecord[] {
  say('has a batch');
  if (options.killer !== undefined && values.includes(options.killer)) process.kill(process.pid, 'SIGKILL');
  if (options.stallMs !== undefined && !stalled) {
    stalled = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, options.stallMs);
    say('woke');
  }
  return values.map((value) => ({
    topic: options.output,
    partition: Number(value.split('-').at(-1)) % options.outputPartitions,
    value: Buffer.from(value),
  }));
}

async function runFenced(): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  if (options.dieBefore !== undefined) dieInTransaction(options.dieBefore);
  await runTransactionalStage({
    kafka,
    admin,
    groupId: options.groupId,
    topics: [options.input],
    offsetsTopic: options.offsets,
    sessionTimeoutMs: SESSION_TIMEOUT_MS,
    concurrency: 4,
    partitionGroupSize: options.partitionGroupSize ?? 1,
    logger: quiet,
    onFatal: (error) => {
      say(`fatal ${String(error)}`);
      process.exit(1);
    },
    ...(options.killer === undefined ? {} : { deadLetter }),
    transform: async (batch) => ({
      outputs: transform(batch.records.map(({ value }) => value?.toString() ?? '')),
      committed: () => say('committed'),
    }),
  });
}

function deadLetter({ records }: InBatch): TransformResult {
  const outputs = records.map(({ value }) => ({
    topic: options.output,
    partition: 0,
    value: Buffer.from(`dead letter ${value?.toString()}`),
  }));
  return { outputs, committed: () => say('dead letter') };
}

function dieInTransaction(step: 'sendBatch' | 'commit'): void {
  const make = kafka.producer.bind(kafka);
  kafka.producer = (config) => {
    const producer = make(config);
    const begin = producer.transaction.bind(producer);
    producer.transaction = async () => {
      const transaction = await begin();
      transaction[step] = async () => process.kill(process.pid, 'SIGKILL') as never;
      return transaction;
    };
    return producer;
  };
}

async function runNaive(): Promise<void> {
  const producer = kafka.producer({
    transactionalId: `${options.groupId}.${options.name}`,
    maxInFlightRequests: 1,
    createPartitioner: explicitPartitioner,
  });
  const consumer = kafka.consumer({ groupId: options.groupId, sessionTimeout: SESSION_TIMEOUT_MS });
  await producer.connect();
  await consumer.connect();
  await consumer.subscribe({ topic: options.input, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      const outputs = transform(batch.messages.map(({ value }) => value?.toString() ?? ''));
      const transaction = await producer.transaction();
      for (const { topic, partition, value } of outputs)
        await transaction.send({ topic, messages: [{ partition, value }] });
      const offset = String(Number(batch.lastOffset()) + 1);
      const topics = [{ topic: batch.topic, partitions: [{ partition: batch.partition, offset }] }];
      await transaction.sendOffsets({ consumerGroupId: options.groupId, topics });
      await transaction.commit();
      say('committed');
    },
  });
}

await (options.variant === 'fenced' ? runFenced() : runNaive());
say('runs');
