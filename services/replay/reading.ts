import { setTimeout as sleep } from 'node:timers/promises';
import { consume } from '#infra/kafka/consumer/consume.ts';
import type { InBatch, Leave } from '#infra/kafka/consumer/in_batch.ts';
import { topicOffsets } from '#infra/kafka/reader/topic_offsets.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { createPassed } from '#pipelines/replay/passed.ts';
import type { ReplayPartition } from '#schemas/replay_progress.ts';
import type { ReplayContext } from './run_context.ts';

/** A part of a partition that is taken at once. */
export interface Slice {
  partition: number;
  records: InRecord[];
}

export interface ReadingOptions {
  replayId: string;
  topic: string;
  /** The partitions to be read as they are by now. */
  partitions(): readonly ReplayPartition[];
  /** Whether each partition is read from its first offset, though more of it is done. */
  fromFirst: boolean;
  recordsMax: number;
  /** Takes a slice, or answers when to come again with it, in milliseconds since 1970 UTC; null where it is taken. */
  take(slice: Slice): Promise<number | null>;
  stopped(): boolean;
}

const POLL_MS = 100;
/** A partition that is done rests for so long at a time. */
const REST_MS = 3_600_000;

/**
 * Reads a range of a topic, slice by slice, until all of it is taken or `stopped` says so; answers whether all is taken.
 * A slice may come again after an error; a partition's slices come one after the other. Throws what cannot be healed.
 */
export async function readRange(
  { session, logger, nowMs }: Pick<ReplayContext, 'session' | 'logger' | 'nowMs'>,
  options: ReadingOptions,
): Promise<boolean> {
  const groupId = session.groupOf(`replay.${options.replayId}`);
  const failed: { error: unknown }[] = [];
  /** Behind what was taken in this reading, by partition. */
  const taken = new Map<number, number>();
  const passed = createPassed();
  // What is deleted by now never comes, also where nothing else does.
  for (const { partition, low } of await topicOffsets(session.admin, options.topic))
    passed.until(partition, Number(low));
  const partOf = (partition: number): ReplayPartition | undefined =>
    options.partitions().find((one) => one.partition === partition);

  async function process(batch: InBatch): Promise<Leave | undefined> {
    const part = partOf(batch.partition);
    const rest = (offset: number): Leave => ({ offset, notBeforeMs: nowMs() + REST_MS });
    if (part === undefined) return rest(batch.records[0]?.offset ?? 0);
    const wanted = batch.records.filter(({ offset }) => offset < part.end);
    for (let at = 0; at < wanted.length; at += options.recordsMax) {
      const records = wanted.slice(at, at + options.recordsMax);
      const offset = records[0]?.offset ?? part.next;
      if (options.stopped()) return rest(offset);
      const notBeforeMs = await options.take({ partition: batch.partition, records });
      if (notBeforeMs !== null) return { offset, notBeforeMs };
      taken.set(batch.partition, (records.at(-1)?.offset ?? -1) + 1);
    }
    const isWhole = wanted.length === batch.records.length;
    passed.until(batch.partition, isWhole ? batch.endOffset : part.end);
    return isWhole ? undefined : rest(part.end);
  }

  const consumption = await consume({
    kafka: session.kafka,
    groupId,
    topics: [options.topic],
    sessionTimeoutMs: session.config.sessionTimeoutMs,
    concurrency: session.config.eventPartitions,
    handlers: {
      acquire: async ({ partition }) => {
        const part = partOf(partition);
        if (part === undefined) return null;
        return taken.get(partition) ?? (options.fromFirst ? part.first : part.next);
      },
      process,
    },
    logger,
    onEmpty: ({ partition }, first, end) => passed.empty(partition, first, end),
    onFatal: (error) => failed.push({ error }),
  });
  const isRead = ({ partition, next, end }: ReplayPartition): boolean => passed.reaches(partition, next) >= end;
  try {
    for (;;) {
      const [failure] = failed;
      if (failure !== undefined) throw failure.error;
      if (options.partitions().every(isRead)) return true;
      if (options.stopped()) return false;
      await sleep(POLL_MS);
    }
  } finally {
    await consumption.stop();
    // A group without members is of no use to anybody; the broker forgets it by itself where this fails.
    await session.admin.deleteGroups([groupId]).catch((error: unknown) => logger.info({ err: error }, 'group kept'));
  }
}
