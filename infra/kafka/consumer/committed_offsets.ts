import { nameOf, type TopicPartition } from './partition_state.ts';

/** What a group has committed of a partition. */
export interface Committed {
  offset: number;
  metadata: string;
}

/** What a process has committed of its partitions itself. */
export interface OwnCommits {
  passed(at: TopicPartition, committed: Committed): void;
  /** The higher of what the coordinator says and what this process has committed. */
  of(at: TopicPartition, said: Committed | null): Committed | null;
  forget(at: TopicPartition): void;
}

/**
 * What a process has committed stands, whatever the coordinator says later: a broker that was killed and starts on a busy
 * machine may answer by an early part of the offsets it holds, as if that were all (Kafka 4.2.1, decision 17). The committed
 * offsets of a group that has members only grow, and metadata without a change of the offset is written after the offset.
 */
export function createOwnCommits(): OwnCommits {
  const own = new Map<string, Committed>();
  return {
    passed(at, committed) {
      own.set(nameOf(at), committed);
    },
    forget(at) {
      own.delete(nameOf(at));
    },
    of(at, said) {
      const mine = own.get(nameOf(at));
      if (mine === undefined) return said;
      if (said === null || said.offset < mine.offset) return mine;
      return said.offset === mine.offset && said.metadata === '' ? mine : said;
    },
  };
}

/** What a group has done, noted beside what it has committed. */
export interface OffsetMarks {
  note(at: TopicPartition, offset: number): void;
  /** What was noted last of this very topic; null where nothing was. */
  of(at: TopicPartition): Promise<number | null>;
}
