import type { Asker } from '#infra/clickhouse/query_ids.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { DataReadLog } from '#infra/settings/data_read_log.ts';
import { createDataReadEntries, type OneRead } from '#pipelines/settings/data_reads.ts';
import type { DataRead } from '#schemas/records.ts';
import { createQueryGate } from './query_gate.ts';

/** Records who reads data of people, beside the answer: nobody waits for it. */
export interface DataReadAudit {
  read(read: OneRead): void;
  /** Writes what was counted and is over; to be called now and then. */
  sweep(): Promise<void>;
  /** Writes everything. */
  stop(): Promise<void>;
}

/** Entries that wait for Kafka; what is dropped of more stands in the log. */
const WAITING_MAX = 10_000;

export function createDataReadAudit(
  { append }: Pick<DataReadLog, 'append'>,
  logger: Logger,
  nowMs: () => number,
): DataReadAudit {
  const entries = createDataReadEntries();
  let waiting: DataRead[] = [];
  let writing: Promise<void> = Promise.resolve();

  function write(some: readonly DataRead[]): Promise<void> {
    for (const entry of some) logger.info({ ...entry }, 'data of people was read');
    waiting.push(...some);
    writing = writing.then(async () => {
      const batch = waiting;
      if (batch.length === 0) return;
      waiting = [];
      try {
        await append(batch);
      } catch (error) {
        waiting = [...batch, ...waiting].slice(-WAITING_MAX);
        logger.error(
          { err: error, waiting: waiting.length },
          'the audit lacks entries of reads, which are tried again',
        );
      }
    });
    return writing;
  }
  return {
    read: (read) => void write(entries.add(read, nowMs())),
    sweep: () => write(entries.due(nowMs())),
    stop: () => write(entries.rest()),
  };
}

/** Looks up who read what, for somebody who asks. */
export type ListDataReads = (
  query: Parameters<DataReadLog['list']>[0],
  asker: Asker,
) => ReturnType<DataReadLog['list']>;

/** Each reads Kafka anew, by a group of its own. */
const AT_ONCE = { atOnce: 2, siteAtOnce: 1 };

/** Lets two through at once, and one of each who asks. */
export function gateDataReads({ list }: Pick<DataReadLog, 'list'>): ListDataReads {
  const gate = createQueryGate(AT_ONCE);
  return (query, { label, signal }) => gate.pass(label, signal, () => list(query));
}
