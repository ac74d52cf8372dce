import kafkajs, { type PartitionAssigner } from 'kafkajs';
import { partitionGroupOf } from './partition_group.ts';
import type { TopicPartition } from './partition_state.ts';

/**
 * Assigns partition groups round robin, each to one member: the partitions of a group commit under one transactional id, and
 * two members would fence each other. The name carries the size, so that the coordinator lets no member into a consumer group
 * whose partition groups have another size. For groups of one partition the client's own assigner does the same.
 */
export function partitionGroupAssigner(size: number): PartitionAssigner {
  if (size === 1) return kafkajs.PartitionAssigners.roundRobin;
  return ({ cluster }) => {
    // A name on the wire: members of a consumer group must all offer the same.
    const name = `RoundRobinBundlesOf${size}`;
    const version = 0;
    return {
      name,
      version,
      async assign({ members, topics }) {
        const partitions = topics.flatMap((topic) =>
          cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => ({ topic, partition: partitionId })),
        );
        const assigned = assignPartitionGroups(
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

/**
 * Assigns partition groups, in the order of topics and partitions, round robin to members, in the order of their ids. Answers
 * each member's partitions by topic.
 */
export function assignPartitionGroups(
  members: readonly string[],
  partitions: readonly TopicPartition[],
  size: number,
): Map<string, Record<string, number[]>> {
  const sorted = [...members].sort();
  const ordered = [...partitions].sort((one, other) => one.partition - other.partition);
  const groups = Map.groupBy(ordered, ({ topic, partition }) => `${topic}/${partitionGroupOf(partition, size).first}`);
  const inOrder = [...groups.values()].sort(byTopicAndPartition);
  const assigned = new Map<string, Record<string, number[]>>();
  for (const [index, group] of inOrder.entries()) {
    const member = sorted[index % sorted.length] as string;
    const byTopic = assigned.get(member) ?? {};
    assigned.set(member, byTopic);
    for (const { topic, partition } of group) byTopic[topic] = [...(byTopic[topic] ?? []), partition];
  }
  return assigned;
}

function byTopicAndPartition([one]: readonly TopicPartition[], [other]: readonly TopicPartition[]): number {
  if (one === undefined || other === undefined) return 0;
  if (one.topic !== other.topic) return one.topic < other.topic ? -1 : 1;
  return one.partition - other.partition;
}
