// The dedup index of the process: claims event ids, and rebuilds the index from events.unique.

import { randomUUID } from 'node:crypto';
import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import type { DedupConfig } from '#infra/config/stage_config.ts';
import { failpoint } from '#infra/failpoint.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import { fenceStage } from '#infra/kafka/producers.ts';
import { readBack } from '#infra/kafka/read_topic.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createDedupIndex, type DedupIndex } from '#infra/redis/indexes/dedup_index.ts';
import { createProgress, createRebuildableIndex } from '#infra/redis/indexes/rebuildable_index.ts';
import type { EventBatchReader } from '#infra/registry/codec.ts';
import { type Deduplicated, deduplicate, pastClaims, type RawEntry } from '#pipelines/dedup/dedup.ts';
import { openRedis, type Runtime } from '#services/stage/runtime.ts';

interface Claims {
  /** Claims the id of each event, and says which were the first of theirs. */
  deduplicate(events: readonly RawEntry[]): Promise<Deduplicated>;
}

/**
 * The claims in Redis, made again from `events.unique` where Redis has lost them: resolves when they are whole. The process
 * is not ready while they are not.
 */
export async function openClaims(
  runtime: Runtime,
  { parts, claimWindowMs, claimBucketChars }: DedupConfig,
  reader: EventBatchReader,
): Promise<Claims> {
  const { session, logger, stage } = runtime;
  const { redis, probe } = openRedis(runtime, parts);
  const claims = createDedupIndex(redis, {
    windowMs: claimWindowMs,
    bucketChars: claimBucketChars,
    cluster: parts.redisCluster,
  });
  const rebuild = { session, groupId: session.groupOf(stage), reader, claims, logger };
  const index = createRebuildableIndex({
    name: 'claims',
    redis,
    incarnation: claims.incarnation,
    rebuild: (sinceMs, nowMs) =>
      rebuildClaims({ ...rebuild, windowMs: claimWindowMs, bucketChars: claimBucketChars }, sinceMs, nowMs),
    token: randomUUID(),
    logger,
    monotonicMs,
  });
  runtime.parts.needs('redis', () => probe.isAlive() && index.isReady());
  await index.await();
  return {
    async deduplicate(events) {
      const decided = await index.use(() => deduplicate(events, claims, claimBucketChars));
      failpoint('dedup.after_claim');
      return decided;
    },
  };
}

interface RebuildOptions {
  session: KafkaSession;
  groupId: string;
  reader: EventBatchReader;
  claims: DedupIndex;
  windowMs: number;
  bucketChars: number;
  logger: Logger;
}

/**
 * Clocks of brokers and processes may differ by this; a record is stamped when it is produced, its claim was made when
 * its batch was begun.
 */
const CLOCKS_MS = 10 * 60_000;
const CLAIMS_PER_CALL = 5_000;

/**
 * Makes the claims again of all that passed: events.unique holds each event that passed with its coordinate. First every
 * open transaction of dedup is ended, whoever runs it: what it let pass by a claim that is lost could else be committed
 * behind what is read here, and pass once more. Where somebody was interrupted at it, it goes on from there.
 */
async function rebuildClaims(options: RebuildOptions, sinceMs: number | null, nowMs: number): Promise<void> {
  const { session, reader, claims, bucketChars, logger } = options;
  const raw = await topicOffsets(session.admin, TOPICS.raw);
  await fenceStage(session.kafka, options.groupId, TOPICS.raw, raw.length, session.config.partitionGroupSize);
  const windowStartMs = nowMs - options.windowMs;
  const attempt = await claims.attempt();
  if (attempt.passed.size > 0) logger.warn({ index: 'claims' }, 'going on with a rebuilding that was interrupted');
  const progress = createProgress(logger, 'claims');
  await readBack({
    kafka: session.kafka,
    admin: session.admin,
    topic: TOPICS.unique,
    groupPrefix: session.config.prefix,
    sinceMs: Math.max(windowStartMs, (sinceMs ?? 0) - CLOCKS_MS),
    passed: attempt.passed,
    onProgress: progress.at,
    async onRecords(records, partition) {
      let waiting: ReturnType<typeof pastClaims> = [];
      for (const record of records) {
        const read = await reader.read(record.value);
        // What cannot be read went to the dead letters of whoever reads the topic.
        if (read.ok) waiting.push(...pastClaims(read.value, bucketChars, record.timestampMs));
        if (waiting.length >= CLAIMS_PER_CALL) {
          await claims.restore(waiting);
          progress.count(waiting.length);
          waiting = [];
        }
      }
      await claims.restore(waiting);
      progress.count(waiting.length);
      const last = records.at(-1);
      if (last !== undefined) await attempt.pass(partition, last.offset + 1);
      failpoint('dedup.rebuilding');
    },
  });
  progress.end();
}
