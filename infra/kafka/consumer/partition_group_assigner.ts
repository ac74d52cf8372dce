import kafkajs, { type PartitionAssigner } from 'kafkajs';
import { bundleOf } from './partition_group.ts';
import type { TopicPartition } from './partition_state.ts';

/**
 * Gives bundles of partitions out in turn, each to one member: what lies in a bundle goes in transactions of one id, which
 * two members would fence each other out of. The name carries the size, so that the coordinator lets none into a group that
 * bundles otherwise. Of bundles of one the client's own assigner does the same.
 */
export function bundleAssigner(size: number): PartitionAssigner {
  if (size === 1) return kafkajs.PartitionAssigners.roundRobin;
  return ({ cluster }) => {
    const name = `RoundRobinBundlesOf${size}`;
    const version = 0;
    return {
      name,
      version,
      async assign({ members, topics }) {
        const partitions = topics.flatMap((topic) =>
          cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => ({ topic, partition: partitionId })),
        );
        const assigned = assignBundles(
          members.map(({ memberId }) => memberId),
          partitions,
          size,
        );
        return [...assigned].map(([memberId, assignment]) => ({
          memberId,
          memberAssignment: kafkajs.AssignerProtocol.MemberAssignment.encode({
            version,
            assignment,
            userData: NO_DATA,
          }),
        }));
      },
      protocol: ({ topics }) => ({
        name,
        metadata: kafkajs.AssignerProtocol.MemberMetadata.encode({ version, topics, userData: NO_DATA }),
      }),
    };
  };
}

const NO_DATA = Buffer.alloc(0);

/** Bundles in the order of topics and partitions to members in the order of their ids, in turn: partitions by topic. */
export function assignBundles(
  members: readonly string[],
  partitions: readonly TopicPartition[],
  size: number,
): Map<string, Record<string, number[]>> {
  const sorted = [...members].sort();
  const ordered = [...partitions].sort((one, other) => one.partition - other.partition);
  const bundles = Map.groupBy(ordered, ({ topic, partition }) => `${topic}/${bundleOf(partition, size).first}`);
  const inOrder = [...bundles.values()].sort(byTopicAndPartition);
  const assigned = new Map<string, Record<string, number[]>>();
  for (const [index, bundle] of inOrder.entries()) {
    const member = sorted[index % sorted.length] as string;
    const byTopic = assigned.get(member) ?? {};
    assigned.set(member, byTopic);
    for (const { topic, partition } of bundle) byTopic[topic] = [...(byTopic[topic] ?? []), partition];
  }
  return assigned;
}

function byTopicAndPartition([one]: readonly TopicPartition[], [other]: readonly TopicPartition[]): number {
  if (one === undefined || other === undefined) return 0;
  if (one.topic !== other.topic) return one.topic < other.topic ? -1 : 1;
  return one.partition - other.partition;
}
