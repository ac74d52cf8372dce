// An index in Redis that a stage makes again from topics where Redis has lost it.

import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import type { RedisParts } from '#infra/config/service_config.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import { fenceStage } from '#infra/kafka/producers.ts';
import { type ReadBackOptions, readBack } from '#infra/kafka/read_topic.ts';
import type { Redis } from '#infra/redis/connection.ts';
import type { IndexEpoch } from '#infra/redis/indexes/index_epoch.ts';
import { createRebuildableIndex } from '#infra/redis/indexes/rebuildable_index.ts';
import { watchServerHealth } from '#infra/redis/server_health.ts';
import { openRedis, type Runtime } from './runtime.ts';

/** What a rebuild is given. */
export interface IndexRebuild {
  /** Records with an earlier timestamp (milliseconds since 1970 UTC) are not needed; null: all are. */
  sinceMs: number | null;
  /** By the clock of Redis as well. */
  nowMs: number;
  /** Reads back what a topic holds now. */
  read(topic: string, options: Pick<ReadBackOptions, 'sinceMs' | 'passed' | 'onRecords'>): Promise<void>;
  /** Counts what was restored, for the log. */
  count(restored: number): void;
}

interface StageIndexOptions<Index> {
  name: string;
  open(redis: Redis): Index & { epoch: IndexEpoch };
  /** Topics that the stage reads. Its open transactions on them are ended before a rebuild: what they rest on is lost. */
  reads: readonly string[];
  rebuild(index: Index, rebuild: IndexRebuild): Promise<void>;
}

/** Clocks of brokers and processes may differ by this; a record is stamped when it is produced, after it was decided. */
const CLOCKS_MS = 10 * 60_000;
const SAID_EVERY_MS = 5_000;
/** Everything is read back, and the index is not in use yet. */
const REBUILT_MAX = 0.99;

/**
 * Opens the index; resolves when it is whole, to it and to what runs a use of it. The process is not ready while it is not
 * whole. Before it is made again every open transaction of the stage is ended, whoever runs it: what it let pass by what is
 * lost could else be committed behind what is read here.
 */
export async function openStageIndex<Index>(
  runtime: Runtime,
  parts: RedisParts,
  { name, open, reads, rebuild }: StageIndexOptions<Index>,
): Promise<{ index: Index; use<T>(work: () => Promise<T>): Promise<T> }> {
  const { session, logger, metrics, stage } = runtime;
  const { kafka, admin, config } = session;
  const { redis, probe } = openRedis(runtime, parts);
  const index = open(redis);

  /** Of the topic that is read back now. */
  let rebuilt = 0;

  async function run(sinceMs: number | null, nowMs: number): Promise<void> {
    for (const topic of reads) {
      const { length } = await topicOffsets(admin, topic);
      await fenceStage(kafka, session.groupOf(stage), topic, length, config.partitionGroupSize);
    }
    const begunMs = monotonicMs();
    let saidMs = begunMs;
    let restored = 0;
    rebuilt = 0;
    const onProgress = (done: number, total: number): void => {
      rebuilt = total === 0 ? 0 : done / total;
      if (monotonicMs() - saidMs < SAID_EVERY_MS) return;
      saidMs = monotonicMs();
      const secondsLeft = done === 0 ? null : Math.ceil(((saidMs - begunMs) * (total - done)) / done / 1_000);
      const percent = Math.floor((100 * done) / total);
      logger.info({ index: name, restored, percent, secondsLeft }, 'rebuilding index');
    };
    await rebuild(index, {
      sinceMs: sinceMs === null ? null : sinceMs - CLOCKS_MS,
      nowMs,
      read: (topic, options) => readBack({ kafka, admin, topic, groupPrefix: config.prefix, onProgress, ...options }),
      count(more) {
        restored += more;
      },
    });
    logger.info({ index: name, restored }, 'index records read');
  }

  const whole = createRebuildableIndex({ name, redis, epoch: index.epoch, rebuild: run, logger });
  const rebuiltHelp = 'Share of an index in Redis that was rebuilt; 1: it is whole';
  metrics.read('svc_index_rebuilt_ratio', rebuiltHelp, ['index'], () => [
    [{ index: name }, whole.isWhole() ? 1 : Math.min(rebuilt, REBUILT_MAX)],
  ]);
  const stopHealth = watchServerHealth(redis, metrics);
  runtime.onStop(async () => {
    stopHealth();
    whole.stop();
  });
  runtime.parts.needs('redis', () => probe.isAlive() && whole.isReady());
  await whole.await();
  return { index, use: whole.use };
}
