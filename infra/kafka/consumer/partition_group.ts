import type { TopicPartition } from './partition_state.ts';

/** Partitions of a topic that one member of a group has together, and passes on in one transaction. */
export interface BundleRange {
  first: number;
  last: number;
}

/** The bundle a partition lies in: `size` partitions from a multiple of `size` on, whether the topic has all of them or not. */
export function bundleOf(partition: number, size: number): BundleRange {
  const first = partition - (partition % size);
  return { first, last: first + size - 1 };
}

/** The bundles of a topic with so many partitions, by their first partitions. */
export function bundlesOf(partitions: number, size: number): BundleRange[] {
  return Array.from({ length: Math.ceil(partitions / size) }, (_, index) => bundleOf(index * size, size));
}

/** One transactional id per group, topic and bundle; that of a partition by itself ends with its number. */
export function transactionalId(groupId: string, { topic, partition }: TopicPartition, size: number): string {
  const { first, last } = bundleOf(partition, size);
  return `${groupId}.${topic}.${first === last ? first : `${first}-${last}`}`;
}
