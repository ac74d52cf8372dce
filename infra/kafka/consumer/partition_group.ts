import type { TopicPartition } from './partition_state.ts';

/** Partitions of a topic that one member of a consumer group has together, and commits in one transaction. */
export interface PartitionGroup {
  first: number;
  last: number;
}

/** The group that a partition lies in: `size` partitions from a multiple of `size` on, whether the topic has all or not. */
export function partitionGroupOf(partition: number, size: number): PartitionGroup {
  const first = partition - (partition % size);
  return { first, last: first + size - 1 };
}

/** The groups of a topic with so many partitions, in order. */
export function partitionGroupsOf(partitions: number, size: number): PartitionGroup[] {
  return Array.from({ length: Math.ceil(partitions / size) }, (_, index) => partitionGroupOf(index * size, size));
}

/** One transactional id per consumer group, topic and partition group; that of a single partition ends with its number. */
export function transactionalId(groupId: string, { topic, partition }: TopicPartition, size: number): string {
  const { first, last } = partitionGroupOf(partition, size);
  return `${groupId}.${topic}.${first === last ? first : `${first}-${last}`}`;
}
