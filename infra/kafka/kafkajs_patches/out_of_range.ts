import { createRequire } from 'node:module';
import type { PartitionAssigner } from 'kafkajs';
import type { TopicPartition } from '#infra/kafka/consumer/partition_state.ts';

/** An offset that a fetch asked for, and the range of the log that it is not in. */
export interface OutOfRange extends TopicPartition {
  asked: number;
  start: number;
  end: number;
}

export interface OutOfRangeListener {
  /** The client goes on at the nearer end of the log. */
  outOfRange(found: OutOfRange): void;
}

interface TopicOffsets {
  partitions: { partition: number; offset: string }[];
}

/** The client's state as a member of a group, as far as it is used here. */
interface ConsumerGroup {
  assigners: Partial<OutOfRangeListener>[];
  cluster: {
    fetchTopicsOffset(
      of: { topic: string; partitions: { partition: number }[]; fromBeginning: boolean }[],
    ): Promise<TopicOffsets[]>;
  };
  offsetManager: {
    nextOffset(topic: string, partition: number): { toString(): string };
    resolveOffset(at: TopicPartition & { offset: string }): void;
  };
  preferredReadReplicasPerTopicPartition: Record<string, Record<number, unknown>>;
  recoverFromOffsetOutOfRange(error: TopicPartition): Promise<void>;
}

const require = createRequire(import.meta.url);
const { prototype } = require('kafkajs/src/consumer/consumerGroup.js') as { prototype: ConsumerGroup };

/** A partition assigner whose consumer reports which offsets the broker does not have. */
export function reportingAssigner(assigner: PartitionAssigner, listener: OutOfRangeListener): PartitionAssigner {
  return (config) => Object.assign(assigner(config), { outOfRange: listener.outOfRange });
}

/**
 * Makes the client go on at the nearer end of a partition's log when it fetches from an offset that is not in it. Without
 * this it commits an offset that means the beginning, over the group's committed offset and its metadata, even if the log
 * was truncated and everything in it has been read.
 */
export function patchOutOfRange(): void {
  prototype.recoverFromOffsetOutOfRange = async function ({ topic, partition }) {
    const replicas = this.preferredReadReplicasPerTopicPartition[topic];
    if (replicas?.[partition] !== undefined) {
      // A follower may be behind: the leader is asked next.
      delete replicas[partition];
      return;
    }
    const ask = async (fromBeginning: boolean): Promise<number> => {
      const [found] = await this.cluster.fetchTopicsOffset([{ topic, partitions: [{ partition }], fromBeginning }]);
      return Number(found?.partitions[0]?.offset);
    };
    const asked = Number(this.offsetManager.nextOffset(topic, partition));
    const [start, end] = [await ask(true), await ask(false)];
    if (asked >= start && asked <= end) return;
    const nearest = asked < start ? start : end;
    for (const assigner of this.assigners) assigner.outOfRange?.({ topic, partition, asked, start, end });
    this.offsetManager.resolveOffset({ topic, partition, offset: String(nearest - 1) });
  };
}
