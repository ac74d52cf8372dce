// What stages have committed, in a log of their own beside the coordinator's.

import type { Kafka } from 'kafkajs';
import { createMutex } from '#infra/concurrency/gates.ts';
import { openCluster } from './client.ts';
import type { TopicPartition } from './consumer/partition_state.ts';
import type { Committed, TopicIds } from './offsets.ts';
import type { OutRecord } from './record.ts';

export type OffsetLog = Awaited<ReturnType<typeof openOffsetLog>>;

const PARTITION = 0;
const READ_UNCOMMITTED = 0;
/** The whole log in one answer or two: its segments are of 1 MiB, and compacted. */
const BYTES_MAX = 16 * 1024 * 1024;

/**
 * A broker that was killed may answer by an early part of a group's committed offsets, or by none, until it starts the next
 * time (decision 17), and brokers forget groups that are away for long: what a stage has written would be written again. So
 * what is committed is written into a compacted topic as well: by a transactional stage in the same transaction, else right
 * behind the commit.
 */
export async function openOffsetLog(
  { kafka, groupId, offsetsTopic }: { kafka: Kafka; groupId: string; offsetsTopic: string },
  ids: Pick<TopicIds, 'of'>,
) {
  const cluster = await openCluster(kafka);
  await cluster.addTargetTopic(offsetsTopic);
  const idOf = new Map<string, string>();
  const topicId = (topic: string): string => idOf.get(topic) ?? '';
  const keyOf = ({ topic, partition }: TopicPartition): string => JSON.stringify([groupId, topic, partition]);
  const turn = createMutex();
  const log = createCommittedValues();

  async function fetchFrom(offset: number) {
    const leader = Object.keys(cluster.findLeaderForPartitions(offsetsTopic, [PARTITION]))[0];
    const broker = await cluster.findBroker({ nodeId: leader ?? '' });
    const partitions = [{ partition: PARTITION, fetchOffset: String(offset), maxBytes: BYTES_MAX }];
    const { responses } = await broker.fetch({
      ...{ replicaId: -1, isolationLevel: READ_UNCOMMITTED, maxWaitTime: 0, minBytes: 0, maxBytes: BYTES_MAX },
      topics: [{ topic: offsetsTopic, partitions }],
    });
    const found = responses[0]?.partitions[0];
    if (found === undefined) throw new Error(`the broker answers nothing of ${offsetsTopic}`);
    return found;
  }

  /** Reads what was written since it was called last. */
  async function readOn(): Promise<void> {
    await cluster.refreshMetadata();
    for (let end = Infinity; log.next() < end; ) {
      const from = log.next();
      const { messages, highWatermark } = await fetchFrom(from);
      end = Number(highWatermark);
      log.take(messages);
      // What was compacted leaves a gap before a record; nothing but a gap is behind the last one.
      if (log.next() === from) log.skipTo(end);
    }
  }

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
      await turn.run(readOn);
      const last = log.last(keyOf(at));
      if (last === undefined) return null;
      const { offset, metadata, topic_id } = JSON.parse(last) as Committed & { topic_id: string };
      return topic_id === id ? { offset, metadata } : null;
    },
    close: (): Promise<void> => cluster.disconnect(),
  };
}

/** A record as a broker answers it (kafkajs 2.2.4). */
export interface FetchedRecord {
  offset: string;
  key: Buffer | null;
  value: Buffer | null;
  isControlRecord: boolean;
  batchContext: { producerId: string; inTransaction: boolean };
}

/** The second number in the key of a control record; that of an abort is 0. */
const COMMIT = 1;

/**
 * The last value under each key, of committed transactions, of a log that is read in order. Brokers keep the marker of a
 * commit as long as a record of it is there.
 */
export function createCommittedValues() {
  const open = new Map<string, Map<string, string>>();
  const committed = new Map<string, string>();
  let next = 0;

  function takeOne({ key, value, isControlRecord, batchContext }: FetchedRecord): void {
    const { producerId, inTransaction } = batchContext;
    if (!inTransaction) return void committed.set(String(key), String(value));
    const written = open.get(producerId) ?? new Map<string, string>();
    if (!isControlRecord) {
      open.set(producerId, written.set(String(key), String(value)));
      return;
    }
    open.delete(producerId);
    if (key?.readInt16BE(2) === COMMIT) for (const [of, last] of written) committed.set(of, last);
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
