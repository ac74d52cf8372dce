import type { Admin } from 'kafkajs';
import type { ConsumeOptions } from '#infra/kafka/consumer/consume_options.ts';
import type { InRecord } from '#infra/kafka/record.ts';

/** Of what `consume` asks for, what the stage says. `watchdogMs` holds for inserts too. */
type ConsumedBy = Pick<
  ConsumeOptions,
  | 'kafka'
  | 'groupId'
  | 'topics'
  | 'sessionTimeoutMs'
  | 'concurrency'
  | 'fetchBytesMin'
  | 'watchdogMs'
  | 'logger'
  | 'onSkipped'
  | 'onFatal'
>;

export interface SinkOptions<Row> extends ConsumedBy {
  admin: Admin;
  /** Rows of one record; must be the same whenever the record is read. */
  toRows(topic: string, partition: number, record: InRecord): Promise<Row[]>;
  /** Makes a dead letter of a record that kills the process whenever its rows are made. Absent: it is tried for ever. */
  deadLetter?(topic: string, partition: number, record: InRecord): Promise<void>;
  /**
   * Writes a block; the same token always comes with the same rows, which are to be written once. `again`: the block may
   * have been written before. An insert of many steps calls `progressed` after each.
   */
  insert(topic: string, token: string, rows: readonly Row[], again: boolean, progressed: () => void): Promise<void>;
  /**
   * The rows of a topic's partitions are written when there are this many, or this many bytes of records. Otherwise they are
   * written with the first batch that comes `flushIntervalMs` or more after the last block was begun, or a quarter of that
   * time later if no batch comes. Records come in bursts, one for each transaction; a block that ended in the middle of a
   * burst would leave its rest to the next block.
   */
  blockRowsMax: number;
  blockBytesMax: number;
  flushIntervalMs: number;
  /** Called when the rows of a partition are written and its offset is committed. */
  committed(topic: string, partition: number, rows: readonly Row[]): void;
  /** Monotonic milliseconds. */
  nowMs(): number;
}
