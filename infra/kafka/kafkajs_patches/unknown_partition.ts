import { createRequire } from 'node:module';

interface Cluster {
  findTopicPartitionMetadata(topic: string): { partitionId: number }[];
  findLeaderForPartitions(topic: string, partitions: readonly (number | string)[]): Record<string, number[]>;
}

const require = createRequire(import.meta.url);
const { prototype } = require('kafkajs/src/cluster/index.js') as { prototype: Cluster };
const { createErrorFromCode } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode(code: number): Error;
};

/** Kafka's error code of a partition that a broker does not know. The client renews its metadata by it and tries again. */
const UNKNOWN_TOPIC_OR_PARTITION = 3;

let patched = false;

/**
 * Makes a request for a partition that the client's metadata lacks fail as it does where the broker lacks it: metadata is renewed, the
 * request tried again, and the caller told if the partition is still not there. Without this the client leaves the partition out:
 * `send` resolves though nothing was sent, a transaction commits offsets without their records, and a question about offsets has no
 * answer for it. Metadata lacks a partition where more are configured than the topic has, and for minutes after some were added.
 */
export function patchUnknownPartition(): void {
  if (patched) return;
  patched = true;
  const findLeaders = prototype.findLeaderForPartitions;
  prototype.findLeaderForPartitions = function (topic, partitions) {
    const known = new Set(this.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId));
    if (partitions.some((partition) => !known.has(Number(partition)))) {
      throw createErrorFromCode(UNKNOWN_TOPIC_OR_PARTITION);
    }
    return findLeaders.call(this, topic, partitions);
  };
}
