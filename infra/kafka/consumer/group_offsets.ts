import type { Admin } from 'kafkajs';
import { topicOffsets } from '#infra/kafka/reader/topic_offsets.ts';
import { type Committed, createOwnCommits, type OffsetMarks } from './committed_offsets.ts';
import type { TopicPartition } from './partition_state.ts';

/** What a group has committed, as its coordinator and this process know it. */
export interface GroupOffsets {
  /** Keeps what this process has just committed. */
  passed(at: TopicPartition, committed: Committed): void;
  /**
   * Asks the coordinator; answers the higher of its offset and this process's own, or null if nothing was ever committed. The
   * process's own does not count if the log ends before it, as that of a topic that was made anew does. Where the coordinator
   * has nothing, what was noted a second time counts.
   */
  of(at: TopicPartition): Promise<Committed | null>;
}

/** The offsets of a group in a process that commits some of them. */
export function createGroupOffsets(admin: Admin, groupId: string, marks: OffsetMarks): GroupOffsets {
  const own = createOwnCommits();
  const noted = async (at: TopicPartition): Promise<Committed | null> => {
    const offset = await marks.of(at);
    return offset === null ? null : { offset, metadata: '' };
  };
  return {
    passed(at, passed) {
      own.passed(at, passed);
      marks.note(at, passed.offset);
    },
    async of(at) {
      const said = (await committed(admin, groupId, at)) ?? (await noted(at));
      const known = own.of(at, said);
      if (known === null || known.offset === said?.offset) return known;
      if (known.offset <= (await endOfLog(admin, at))) return known;
      own.forget(at);
      return said;
    },
  };
}

async function endOfLog(admin: Admin, { topic, partition }: TopicPartition): Promise<number> {
  const found = (await topicOffsets(admin, topic)).find((one) => one.partition === partition);
  return Number(found?.high ?? 0);
}

/** The group's committed offset; null where none was ever committed. */
export async function committedOffset(admin: Admin, groupId: string, at: TopicPartition): Promise<number | null> {
  const found = await committed(admin, groupId, at);
  return found === null ? null : found.offset;
}

/** The group's committed offset with its metadata; null where none was ever committed. */
export async function committed(admin: Admin, groupId: string, at: TopicPartition): Promise<Committed | null> {
  const [topic] = await admin.fetchOffsets({ groupId, topics: [at.topic] });
  const entry = topic?.partitions.find(({ partition }) => partition === at.partition);
  if (entry === undefined || Number(entry.offset) < 0) return null;
  return { offset: Number(entry.offset), metadata: entry.metadata ?? '' };
}
