import { randomUUID } from 'node:crypto';
import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import type { DedupConfig } from '#infra/config/stage_config.ts';
import { failpoint } from '#infra/failpoint/failpoint.ts';
import { createClaimStore } from '#infra/redis/claims.ts';
import { createRebuildableIndex } from '#infra/redis/rebuildable_index.ts';
import type { EventBatchReader } from '#infra/registry/codec.ts';
import { type Deduplicated, deduplicate, type RawEntry } from '#pipelines/dedup/dedup.ts';
import { openRedis } from '#services/open_parts.ts';
import type { Runtime } from '#services/runtime.ts';
import { rebuildClaims } from './rebuild.ts';

export interface Claims {
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
  const claims = createClaimStore(redis, {
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
