// Whether a process still gets on with its partitions: the client has been seen to hold one and not to fetch from it, for
// hours, while its heartbeats went on (kafkajs issue 1456), and a handler may wait for what never comes.
import { nameOf, type TopicPartition } from './partition_state.ts';

/** What a consumer has done of a partition that it has. */
export interface PartitionProgress extends TopicPartition {
  /** The offset behind what was fetched last; 0: nothing was fetched yet. */
  nextOffset: number;
  /** Grows with every step that is done. */
  steps: number;
  /** Whether something that was fetched is in work. */
  isBusy: boolean;
  /** Whether nothing is read on purpose, until a time. */
  rests: boolean;
}

/** Where a partition ends, and how many records its group has still to take. */
interface PartitionEnd extends TopicPartition {
  high: number;
  records: number;
}

/**
 * Finds partitions that stand still though records wait. Looks are counted and not the clock, as time in which the process
 * itself was stopped says nothing.
 *
 * @param looksMax Looks in a row after which a partition that has not moved counts as standing still.
 */
export function createProgressWatch(looksMax: number) {
  let still = new Map<string, { mark: string; looks: number }>();
  return {
    /** Those that stand still. Partitions that are missing, and all while nothing `counts`, are looked at anew. */
    look(all: readonly PartitionProgress[], ends: readonly PartitionEnd[], counts: boolean): TopicPartition[] {
      const before = still;
      still = new Map();
      if (!counts) return [];
      const endOf = new Map(ends.map((end) => [nameOf(end), end]));
      return all.flatMap((one) => {
        const { topic, partition, nextOffset, steps, isBusy, rests } = one;
        const { high = 0, records = 0 } = endOf.get(nameOf(one)) ?? {};
        // Markers of transactions behind the last record count as records that wait, but not once they were fetched.
        const waits = isBusy || (records > 0 && nextOffset < high);
        if (!waits || rests) return [];
        const mark = `${nextOffset} ${steps}`;
        const seen = before.get(nameOf(one));
        const looks = seen?.mark === mark ? seen.looks + 1 : 0;
        still.set(nameOf(one), { mark, looks });
        return looks >= looksMax ? [{ topic, partition }] : [];
      });
    },
  };
}
