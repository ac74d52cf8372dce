import type { KeyedProducer } from '#infra/kafka/keyed_producer.ts';
import { deadTopic, SMALL_PARTITIONS } from '#infra/kafka/topics.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { Codec } from '#infra/registry/codec.ts';
import { deadLetter } from '#pipelines/dead_letter.ts';
import { createBatchWriter, type EntryView } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';

export interface DeadRecord {
  topic: string;
  partition: number;
  offset: number;
  /** Event in the record; -1 for the record as a whole. */
  index: number;
}

/** What the warehouse cannot store. One letter may stand twice after a crash, as it is written before its offset. */
export interface DeadLetters {
  bury(at: DeadRecord, reason: string, detail: string, value: Buffer | null): Promise<void>;
}

/** One event as a record of its own, so that it can be sent in again as it is. */
export function batchOf(schemaId: number, { coordinate, personBytes, eventBytes }: EntryView): Buffer {
  const writer = createBatchWriter(schemaId);
  writer.add(coordinate, personBytes, eventBytes);
  return writer.finish();
}

export function createDeadLetters(producer: KeyedProducer, codec: Codec<DeadLetter>, metrics: Metrics): DeadLetters {
  return {
    async bury(at, reason, detail, value) {
      const letter = deadLetter({ stage: 'warehouse', ...at }, reason, detail, value, Date.now());
      await producer.send([
        { topic: deadTopic('warehouse'), partition: at.partition % SMALL_PARTITIONS, value: codec.encode(letter) },
      ]);
      metrics.in(1);
      metrics.dead(reason, 1);
    },
  };
}
