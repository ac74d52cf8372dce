import type { ICustomPartitioner } from 'kafkajs';

/** A record without a chosen partition must not be sent: the client would choose, and a send could span partitions. */
export class PartitionUnchosenError extends Error {
  readonly code = 'partition_unchosen';
}

/** The partition of a record is always chosen by us. */
export const chosenPartition: ICustomPartitioner =
  () =>
  ({ message }) => {
    if (message.partition === undefined) throw new PartitionUnchosenError('record without a partition');
    return message.partition;
  };
