import { createHash } from 'node:crypto';
import type { KeyedProducer } from '#infra/kafka/producers.ts';
import { deadTopic, TOPICS } from '#infra/kafka/topics.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import { type Codec, createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import {
  createDeadLetter,
  type DeadReason,
  type PoisonPill,
  poisonPillDeadLetters,
} from '#pipelines/redelivery/dead_letter.ts';
import { createBatchWriter, type EncodedEvent } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';

interface DeadRecord {
  topic: string;
  partition: number;
  offset: number;
  /** Event in the record; -1 for the record as a whole. */
  index: number;
}

/**
 * What the warehouse cannot store. A letter is written before its offset is committed: once however often its record is
 * read again, and possibly twice after a crash.
 */
export interface DeadLetters {
  write(at: DeadRecord, reason: DeadReason, detail: string, value: Buffer | null): Promise<void>;
  /** A record that kills the process whenever its rows are made, with its events where it has any that can be read. */
  writePoisonPill(pill: Omit<PoisonPill, 'stage' | 'rawTopic'>): Promise<void>;
}

/** One event as a record of its own, so that it can be sent in again as it is. */
export function batchOf(schemaId: number, { coordinate, personBytes, eventBytes }: EncodedEvent): Buffer {
  const writer = createBatchWriter(schemaId);
  writer.add(coordinate, personBytes, eventBytes);
  return writer.finish();
}

/** More than records that are not committed yet can be dead; beyond it the first are forgotten. */
const WRITTEN_MAX = 10_000;

export function createDeadLetters(
  producer: Pick<KeyedProducer, 'send'>,
  codec: Pick<Codec<DeadLetter>, 'encode'>,
  metrics: Pick<Metrics, 'in' | 'dead'>,
  partitions: number,
): DeadLetters {
  const written = new Set<string>();
  async function put(deadLetter: DeadLetter, name: string): Promise<void> {
    if (written.has(name)) return;
    await producer.send([
      {
        topic: deadTopic('warehouse'),
        partition: deadLetter.partition % partitions,
        value: codec.encode(deadLetter),
      },
    ]);
    written.add(name);
    const [first] = written;
    if (written.size > WRITTEN_MAX && first !== undefined) written.delete(first);
    metrics.in(1);
    metrics.dead(deadLetter.reason, 1);
  }
  return {
    write: (at, reason, detail, value) =>
      put(createDeadLetter({ stage: 'warehouse', ...at }, reason, detail, value, Date.now()), nameOf(at, value)),
    async writePoisonPill(pill) {
      const deadLetters = poisonPillDeadLetters({ ...pill, stage: 'warehouse', rawTopic: TOPICS.raw }, Date.now());
      for (const deadLetter of deadLetters) await put(deadLetter, nameOf(deadLetter, deadLetter.bytes));
    },
  };
}

/** Writes dead letters of the warehouse through a producer. */
export async function openDeadLetters(
  registry: Registry,
  producer: Pick<KeyedProducer, 'send'>,
  metrics: Pick<Metrics, 'in' | 'dead'>,
  partitions: number,
): Promise<DeadLetters> {
  const codec = await createCodec<DeadLetter>(registry, deadTopic('warehouse'), 'dead_letter');
  return createDeadLetters(producer, codec, metrics, partitions);
}

/** By the content too: rows that ClickHouse refuses are known by the place of their block only. */
function nameOf({ topic, partition, offset, index }: DeadRecord, value: Buffer | null): string {
  const digest = value === null ? 'none' : createHash('sha256').update(value).digest('base64');
  return `${topic}/${partition}/${offset}/${index}/${digest}`;
}
