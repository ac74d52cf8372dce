import type { Admin, Kafka } from 'kafkajs';
import { openCluster } from '#infra/kafka/cluster.ts';
import type { TopicIds } from '#infra/kafka/reader/topic_ids.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { OffsetMarks } from './committed_offsets.ts';
import { committed } from './group_offsets.ts';

/** What is not noted yet when a process is killed is done again if the group is deleted as well. */
const NOTE_MS = 10_000;

/** The name of the group that remembers a group's offsets; nobody is a member of it. */
const marksGroup = (groupId: string): string => `${groupId}.marks`;

/**
 * Notes a group's offsets a second time, as those of a group without members, with the id of the topic that they are of.
 * Brokers forget the offsets of a group that is away for long, and an operator may delete them: nothing committed is not
 * nothing done.
 */
export async function openOffsetMarks(
  { kafka, admin, groupId, logger }: { kafka: Kafka; admin: Admin; groupId: string; logger: Logger },
  ids: Pick<TopicIds, 'of'>,
): Promise<OffsetMarks & { close(): Promise<void> }> {
  const cluster = await openCluster(kafka);
  const group = marksGroup(groupId);
  let notes = new Map<string, Map<number, number>>();

  async function write(some: ReadonlyMap<string, ReadonlyMap<number, number>>): Promise<void> {
    const topics = await Promise.all(
      [...some].map(async ([topic, offsets]) => {
        const metadata = await ids.of(topic);
        const partitions = [...offsets].map(([partition, offset]) => ({ partition, offset: String(offset), metadata }));
        return { topic, partitions };
      }),
    );
    const coordinator = await cluster.findGroupCoordinator({ groupId: group });
    await coordinator.offsetCommit({ groupId: group, groupGenerationId: -1, memberId: '', topics });
  }

  async function flush(): Promise<void> {
    const some = notes;
    if (some.size === 0) return;
    notes = new Map();
    await write(some).catch((error: unknown) => {
      logger.warn({ group, err: error }, 'offsets not noted a second time, trying again');
      for (const [topic, offsets] of some) notes.set(topic, new Map([...offsets, ...(notes.get(topic) ?? [])]));
    });
  }

  let writing = Promise.resolve();
  const timer = setInterval(() => {
    writing = writing.then(flush);
  }, NOTE_MS);
  return {
    note({ topic, partition }, offset) {
      const offsets = notes.get(topic) ?? new Map<number, number>();
      notes.set(topic, offsets);
      offsets.set(partition, offset);
    },
    async of(at) {
      const mark = await committed(admin, group, at);
      if (mark === null || mark.metadata !== (await ids.of(at.topic))) return null;
      logger.error({ ...at, offset: mark.offset }, 'the committed offset is gone, going on where it was noted');
      return mark.offset;
    },
    async close() {
      clearInterval(timer);
      await writing;
      await flush();
      await cluster.disconnect();
    },
  };
}
