import { nameOf, type TopicPartition } from './partition_state.ts';

/** What a group has committed of a partition. */
export interface Committed {
  offset: number;
  metadata: string;
}

/** What a process has committed of its partitions itself. */
export interface Furthest {
  passed(at: TopicPartition, committed: Committed): void;
  /** Of what the coordinator says and what this process has committed that which is further. */
  of(at: TopicPartition, said: Committed | null): Committed | null;
  forget(at: TopicPartition): void;
}

/**
 * What a process has committed stands, whatever the coordinator says later: a broker that was killed and starts on a busy
 * machine may answer by an early part of the offsets it holds, as if that were all (Kafka 4.2.1, decision 17). Offsets of a
 * group that has members only ever grow, and what is written beside one comes after the offset itself.
 */
export function createFurthest(): Furthest {
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
