import type { Admin } from 'kafkajs';
import { topicOffsets } from '#infra/kafka/reader/topic_offsets.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { TopicPartition } from './partition_state.ts';

/** Records of a partition that a group has still to take. */
export interface Lag extends TopicPartition {
  records: number;
}

/** Where a partition begins and ends, and what its group has committed of it; null where nothing was ever committed. */
export interface Position extends TopicPartition {
  low: number;
  high: number;
  committed: number | null;
}

export interface LagWatchOptions {
  admin: Admin;
  groupId: string;
  /** The partitions that this process has now. */
  assigned(): readonly TopicPartition[];
  /** Told of all of them; of none where Kafka could not be asked, as what was known before may be wrong by now. */
  onLags(lags: readonly Lag[]): void;
  logger: Logger;
  intervalMs?: number;
}

const INTERVAL_MS = 5_000;

/**
 * Measures the lag of a process's partitions by asking Kafka, every few seconds, so that it is known of a partition of
 * which nothing gets done, or nothing ever was. Answers how to stop.
 */
export function watchLag(options: LagWatchOptions): () => void {
  const { admin, groupId, assigned, onLags, logger, intervalMs = INTERVAL_MS } = options;
  let asking = false;
  async function ask(): Promise<void> {
    if (asking) return;
    asking = true;
    try {
      onLags((await positionsOf(admin, groupId, assigned())).map(lagOf));
    } catch (error) {
      logger.info({ group: groupId, err: error }, 'lag not measured');
      onLags([]);
    } finally {
      asking = false;
    }
  }
  const timer = setInterval(() => void ask(), intervalMs);
  return () => clearInterval(timer);
}

/** What was deleted by age before the group took it is no lag: nobody can take it any more. */
export function lagOf({ topic, partition, low, high, committed }: Position): Lag {
  return { topic, partition, records: Math.max(0, high - Math.max(low, committed ?? low)) };
}

async function positionsOf(admin: Admin, groupId: string, of: readonly TopicPartition[]): Promise<Position[]> {
  const topics = [...new Set(of.map(({ topic }) => topic))];
  if (topics.length === 0) return [];
  const committed = await admin.fetchOffsets({ groupId, topics });
  const ends = await Promise.all(
    topics.map(async (topic) => ({ topic, partitions: await topicOffsets(admin, topic) })),
  );
  return of.flatMap(({ topic, partition }) => {
    const end = ends.find((one) => one.topic === topic)?.partitions.find((one) => one.partition === partition);
    const entry = committed.find((one) => one.topic === topic)?.partitions.find((one) => one.partition === partition);
    if (end === undefined) return [];
    const offset = Number(entry?.offset ?? -1);
    const position = { low: Number(end.low), high: Number(end.high), committed: offset < 0 ? null : offset };
    return [{ topic, partition, ...position }];
  });
}
