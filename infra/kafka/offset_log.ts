// What stages have committed, in a log of their own beside the coordinator's.

import type { Kafka } from 'kafkajs';
import { createMutex } from '#infra/concurrency/gates.ts';
import type { Logger } from '#infra/log/logger.ts';
import { openCluster } from './client.ts';
import type { TopicPartition } from './consumer/partition_state.ts';
import type { Committed, TopicIds } from './offsets.ts';
import type { OutRecord } from './record.ts';

export type OffsetLog = Awaited<ReturnType<typeof openOffsetLog>>;

const PARTITION = 0;
const READ_UNCOMMITTED = 0;
/** The whole log in one answer or two: its segments are of 1 MiB, and compacted. */
const BYTES_MAX = 16 * 1024 * 1024;

interface OffsetLogOptions {
  kafka: Kafka;
  groupId: string;
  offsetsTopic: string;
  logger: Logger;
}

/**
 * A broker that was killed may answer by an early part of a group's committed offsets, or by none, until it starts the next
 * time (decision 17), and brokers forget groups that are away for long: what a stage has written would be written again. So
 * what is committed is written into a compacted topic as well: by a transactional stage in the same transaction, else right
 * behind the commit. Throws OffsetLogError where the topic cannot be read.
 */
export async function openOffsetLog(
  { kafka, groupId, offsetsTopic, logger }: OffsetLogOptions,
  ids: Pick<TopicIds, 'of'>,
) {
  const cluster = await openCluster(kafka);
  const idOf = new Map<string, string>();
  const topicId = (topic: string): string => idOf.get(topic) ?? '';
  const keyOf = ({ topic, partition }: TopicPartition): string => JSON.stringify([groupId, topic, partition]);
  const turn = createMutex();
  /** What was read so far, of the topic with this id. */
  let log: { id: string; values: CommittedValues } | null = null;

  /** Throws what a request of the log failed with, by the topic's name; the next one reads it from its beginning. */
  function fail(error: unknown): never {
    log = null;
    const reason = error instanceof Error ? error.message : String(error);
    throw new OffsetLogError(`the offset log ${offsetsTopic} cannot be read: ${reason}`, { cause: error });
  }

  async function fetchFrom(offset: number) {
    const leader = Object.keys(cluster.findLeaderForPartitions(offsetsTopic, [PARTITION]))[0];
    const broker = await cluster.findBroker({ nodeId: leader ?? '' });
    const partitions = [{ partition: PARTITION, fetchOffset: String(offset), maxBytes: BYTES_MAX }];
    const { responses } = await broker.fetch({
      ...{ replicaId: -1, isolationLevel: READ_UNCOMMITTED, maxWaitTime: 0, minBytes: 0, maxBytes: BYTES_MAX },
      topics: [{ topic: offsetsTopic, partitions }],
    });
    const found = responses[0]?.partitions[0];
    // As a broker does to a client that is above its quota.
    if (found === undefined) throw new Error('the broker answers nothing of it');
    return found;
  }

  async function begin(id: string): Promise<{ id: string; values: CommittedValues }> {
    const asked = { topic: offsetsTopic, partitions: [{ partition: PARTITION }], fromBeginning: true };
    const [found] = await cluster.fetchTopicsOffset([asked]);
    return { id, values: createCommittedValues(Number(found?.partitions[0]?.offset ?? 0)) };
  }

  /** Reads what was written since it was called last, or all of it where that was in another topic of the name. */
  async function readOn(): Promise<CommittedValues> {
    await cluster.refreshMetadata();
    const id = await ids.of(offsetsTopic);
    log = log?.id === id ? log : await begin(id);
    const { values } = log;
    for (let end = Infinity; values.next() < end; ) {
      const { messages, highWatermark } = await fetchFrom(values.next());
      end = Number(highWatermark);
      values.take(messages);
      // Of what was compacted nothing at all may be left before the end.
      if (messages.length === 0) values.skipTo(end);
    }
    return values;
  }

  await cluster.addTargetTopic(offsetsTopic).catch(async (error: unknown) => {
    await cluster.disconnect();
    fail(error);
  });
  return {
    /** What goes out with a commit. */
    recordOf(at: TopicPartition, { offset, metadata }: Committed): OutRecord {
      const value = JSON.stringify({ offset, metadata, topic_id: topicId(at.topic) });
      return { topic: offsetsTopic, partition: PARTITION, key: keyOf(at), value: Buffer.from(value) };
    },
    /** The cluster's id of a topic, as it was when one of its partitions was acquired last; empty where none is known. */
    topicId,
    /**
     * What was committed last of a partition of this very topic; null where nothing was. The open transactions of others are
     * not waited for; those that wrote of this partition ended when its transactional id was taken.
     */
    async of(at: TopicPartition): Promise<Committed | null> {
      const id = await ids.of(at.topic);
      idOf.set(at.topic, id);
      const values = await turn.run(() => readOn().catch(fail));
      const last = values.last(keyOf(at));
      if (last === undefined) return null;
      const noted = readNoted(last);
      if (noted === null) logger.error({ ...at, offsetsTopic }, 'record of the offset log not readable, left out');
      return noted?.topic_id === id ? { offset: noted.offset, metadata: noted.metadata } : null;
    },
    close: (): Promise<void> => cluster.disconnect(),
  };
}

/** The topic of the offset log is missing, forbidden or away. */
class OffsetLogError extends Error {
  readonly code = 'offset_log_unavailable';
  readonly recovery = 'again';
}

/** What a record says; null where it is none of ours. */
function readNoted(text: string): (Committed & { topic_id: string }) | null {
  try {
    const { offset, metadata, topic_id } = JSON.parse(text) as Record<string, unknown>;
    const isOffset = Number.isSafeInteger(offset) && typeof metadata === 'string' && typeof topic_id === 'string';
    return isOffset ? { offset: Number(offset), metadata, topic_id } : null;
  } catch {
    return null;
  }
}

/** A record as a broker answers it (kafkajs 2.2.4). */
export interface FetchedRecord {
  offset: string;
  /** Null in a control record that ends a batch, not a transaction (`patchBatchEnds`). */
  key: Buffer | null;
  value: Buffer | null;
  isControlRecord: boolean;
  batchContext: { producerId: string; inTransaction: boolean };
}

/** The second number in the key of a control record; that of an abort is 0. */
const COMMIT = 1;

type CommittedValues = ReturnType<typeof createCommittedValues>;

/**
 * The last value under each key, of committed transactions, of a log that is read in order from offset `first` on; what has
 * a tombstone has none. Brokers keep the marker of a commit as long as a record of it is there.
 */
export function createCommittedValues(first: number) {
  const open = new Map<string, Map<string, Buffer | null>>();
  const committed = new Map<string, string>();
  let next = first;

  function commit(key: string, value: Buffer | null): void {
    if (value === null) committed.delete(key);
    else committed.set(key, String(value));
  }

  function takeOne({ key, value, isControlRecord, batchContext }: FetchedRecord): void {
    const { producerId, inTransaction } = batchContext;
    if (isControlRecord && key === null) return;
    const written = open.get(producerId) ?? new Map<string, Buffer | null>();
    if (!inTransaction) commit(String(key), value);
    else if (!isControlRecord) open.set(producerId, written.set(String(key), value));
    else {
      open.delete(producerId);
      if (key?.readInt16BE(2) === COMMIT) for (const [of, last] of written) commit(of, last);
    }
  }

  return {
    /** Takes records from `next` on; a batch is answered whole, so that some may be before it. */
    take(records: readonly FetchedRecord[]): void {
      for (const record of records) {
        if (Number(record.offset) < next) continue;
        takeOne(record);
        next = Number(record.offset) + 1;
      }
    },
    next: (): number => next,
    skipTo(offset: number): void {
      next = offset;
    },
    last: (key: string): string | undefined => committed.get(key),
  };
}
