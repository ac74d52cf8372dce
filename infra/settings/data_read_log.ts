import type { KafkaSession } from '#infra/kafka/client.ts';
import { topicOffsets, topicOffsetsAt } from '#infra/kafka/offsets.ts';
import { createKeyedProducer } from '#infra/kafka/producers.ts';
import { readRanges } from '#infra/kafka/read_topic.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { DataRead } from '#schemas/records.ts';

type NumberedRead = DataRead & { seq: number };

/** Entries in a part of the topic, newest first. */
interface DataReadsPage {
  reads: NumberedRead[];
  /** Before which number the next page begins; null after the last. */
  next: number | null;
}

/** The topic that says who read data of people: kept by time, so that nobody pushes an entry out. */
export type DataReadLog = Awaited<ReturnType<typeof openDataReadLog>>;

class DataReadsError extends Error {
  readonly code = 'data_reads_unavailable';
}

/** Offsets that are read for one page; an entry has some hundred bytes. */
const SCANNED_MAX = 5_000;

/** Opens the topic for what is written by this process and asked for by people. */
export async function openDataReadLog(session: KafkaSession, registry: Registry) {
  const { kafka, admin, config } = session;
  const topic = TOPICS.dataReads;
  const codec = await createCodec<DataRead>(registry, topic, 'data_read', 'left_out');
  const producer = await createKeyedProducer(kafka);

  async function list({ beforeSeq, sinceMs, limit, matches }: Parameters<DataReadLog['list']>[0]) {
    const [held] = await topicOffsets(admin, topic);
    const [since] = sinceMs === null ? [] : await topicOffsetsAt(admin, topic, sinceMs);
    // Numbers begin at 1. An entry is written when its last reading is over, so nothing written before a time is of after it.
    const first = Math.max(Number(held?.low ?? 0), Number(since?.offset ?? 0));
    const end = Math.min(Number(held?.high ?? 0), (beforeSeq ?? Number.POSITIVE_INFINITY) - 1);
    const from = Math.max(first, end - SCANNED_MAX);
    if (from >= end) return { reads: [], next: null };
    const ranges = new Map([[0, { first: from, last: end - 1 }]]);
    const records = (await readRanges({ kafka, admin, topic, groupPrefix: config.prefix, ranges })).get(0) ?? [];
    const reads: NumberedRead[] = [];
    for (const { offset, value } of records.toReversed()) {
      const read = await codec.decode(value);
      if (!read.ok || !matches(read.value)) continue;
      reads.push({ ...read.value, seq: offset + 1 });
      if (reads.length === limit) return { reads, next: offset > first ? offset + 1 : null };
    }
    return { reads, next: from > first ? from + 1 : null };
  }

  return {
    append: (reads: readonly DataRead[]): Promise<void> =>
      producer.send(reads.map((read) => ({ topic, partition: 0, key: read.site_id, value: codec.encode(read) }))),
    /** A page may be short, or empty, without being the last. @throws DataReadsError */
    list: (query: {
      beforeSeq: number | null;
      sinceMs: number | null;
      limit: number;
      matches(read: DataRead): boolean;
    }): Promise<DataReadsPage> => list(query).catch(unavailable),
    stop: (): Promise<void> => producer.stop(),
  };
}

function unavailable(error: unknown): never {
  const passes = error instanceof Error && (error.name.startsWith('KafkaJS') || 'recovery' in error);
  throw passes ? new DataReadsError('the topic of reads cannot be reached', { cause: error }) : error;
}
