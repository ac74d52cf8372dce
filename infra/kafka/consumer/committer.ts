import type { Consumer, TopicPartitionOffsetAndMetadata } from 'kafkajs';
import { PartitionLostError } from '#infra/errors.ts';

export interface Committer {
  /** Resolves when the coordinator has taken the offsets; throws PartitionLostError where it may not have. */
  commit(offsets: readonly Required<TopicPartitionOffsetAndMetadata>[]): Promise<void>;
  /** Commits that have no answer yet. */
  underWay(): number;
}

/**
 * Commits offsets of a running consumer. The client answers a commit like one that was made when its consumer has
 * crashed, or crashes meanwhile, and writes nothing (Runner.commitOffsets, kafkajs 2.2.4); only its event says that one
 * was made.
 */
export function createCommitter(consumer: Pick<Consumer, 'on' | 'events' | 'commitOffsets'>): Committer {
  /** Whether each commit under way was made. No offset of a partition is committed twice at a time. */
  const waiting = new Map<string, boolean>();
  consumer.on(consumer.events.COMMIT_OFFSETS, ({ payload }) => {
    const taken = payload.topics.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset }) => ({ topic, partition, offset })),
    );
    const name = nameOf(taken);
    if (waiting.has(name)) waiting.set(name, true);
  });
  return {
    async commit(offsets) {
      const name = nameOf(offsets);
      waiting.set(name, false);
      try {
        await consumer.commitOffsets([...offsets]);
        if (waiting.get(name) !== true) throw new PartitionLostError('the commit was not made');
      } finally {
        waiting.delete(name);
      }
    },
    underWay: () => waiting.size,
  };
}

interface CommittedOffset {
  topic: string;
  partition: number;
  offset: { toString(): string };
}

function nameOf(offsets: readonly CommittedOffset[]): string {
  return offsets
    .map(({ topic, partition, offset }) => `${topic}/${partition}/${offset.toString()}`)
    .toSorted()
    .join(' ');
}
