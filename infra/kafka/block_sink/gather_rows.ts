import { endOf, type InBatch } from '#infra/kafka/consumer/in_batch.ts';
import { nameOf, type TopicPartition } from '#infra/kafka/consumer/partition_state.ts';
import type { ProcessingStep } from '#infra/kafka/consumer/poison_pill_search.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { gather, gatherFrom } from '#pipelines/warehouse/block.ts';
import type { SinkState } from './sink_state.ts';
import { awaitCapacity, intervalsSince, writeBlock, writeTopic } from './write_block.ts';

/** Makes rows of a batch. They wait for the topic's next block, which is begun here if it is due. */
export async function gatherBatch<Row>(sink: SinkState<Row>, batch: InBatch): Promise<undefined> {
  const { converting, open, options } = sink;
  const { topic } = batch;
  converting.set(topic, (converting.get(topic) ?? 0) + 1);
  try {
    for (const record of batch.records) {
      put(sink, batch, record, await options.toRows(topic, batch.partition, record));
    }
    const gathered = open.get(nameOf(batch));
    if (gathered !== undefined) gathered.next = Math.max(gathered.next, endOf(batch));
  } finally {
    converting.set(topic, (converting.get(topic) ?? 0) - 1);
  }
  // The partitions of one fetch go into one block.
  if (converting.get(topic) === 0 && intervalsSince(sink, topic) >= 1) void writeTopic(sink, topic);
  await awaitCapacity(sink, batch);
  return undefined;
}

/** Commits metadata at an offset. Nothing of the partition is gathered yet when its first batch after a start comes. */
export async function commitMetadata<Row>(
  { offsets, started }: SinkState<Row>,
  at: TopicPartition,
  offset: number,
  metadata: string,
): Promise<void> {
  const consumption = await started.promise;
  await consumption.commit(at, offset, metadata);
  offsets.passed(at, { offset, metadata });
}

/**
 * Gathers records among which a poison pill may be: to make rows is what may kill the process. They are written like all
 * others, and at once where metadata is to be committed behind them.
 */
export async function gatherSearched<Row>(
  sink: SinkState<Row>,
  batch: InBatch,
  kind: ProcessingStep['kind'],
): Promise<undefined> {
  await gatherBatch(sink, batch);
  await commitMetadata(sink, batch, batch.records[0]?.offset ?? 0, '');
  if (kind !== 'batch') await writeBlock(sink, batch.topic, [batch]);
  return undefined;
}

/** Makes a dead letter of each record, and commits the offset behind them. */
export async function deadLetterBatch<Row>(sink: SinkState<Row>, batch: InBatch): Promise<undefined> {
  for (const record of batch.records) {
    await sink.options.deadLetter?.(batch.topic, batch.partition, record);
    put(sink, batch, record, []);
  }
  await writeBlock(sink, batch.topic, [batch]);
  return undefined;
}

function put<Row>({ open, options }: SinkState<Row>, batch: InBatch, record: InRecord, rows: readonly Row[]): void {
  const gathered = open.get(nameOf(batch)) ?? gatherFrom<Row>(record.offset, 0);
  open.set(nameOf(batch), gathered);
  if (gathered.first === null) gathered.openedMs = options.nowMs();
  gather(gathered, record.offset, rows, record.value?.length ?? 0);
}
