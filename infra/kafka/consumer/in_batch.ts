import type { InRecord } from '#infra/kafka/record.ts';
import type { TopicPartition } from './partition_state.ts';

/** What fetches brought of one partition since the last batch was taken from it. */
export interface InBatch extends TopicPartition {
  records: InRecord[];
  /** Offset of the last record that was fetched, where `records` may be only some of them. */
  lastOffset: number;
  /** The offset behind that record and behind the transaction markers that follow it. */
  endOffset: number;
  /** Records of the partition behind this batch; a transaction marker is not a record. */
  lag: number;
  /** False once the partition may belong to another member: nothing may be committed then. */
  owned(): boolean;
  /**
   * True once the partition is about to be given away, or may have been given away. The handler leaves what it has not
   * begun to the next owner, and returns soon with what it has done, as that can be committed for a short while only.
   */
  stopping(): boolean;
}

/** Records from `offset` on are left for later, not before a time (milliseconds since 1970 UTC). */
export interface Leave {
  offset: number;
  notBeforeMs: number;
}

/** The offset to commit when these records are done; it lies behind the transaction markers that follow the last of them. */
export function endOf({
  records,
  lastOffset,
  endOffset,
}: Pick<InBatch, 'records' | 'lastOffset' | 'endOffset'>): number {
  const last = records.at(-1)?.offset ?? -1;
  return last === lastOffset ? endOffset : last + 1;
}
