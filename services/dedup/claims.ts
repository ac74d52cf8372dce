// The dedup index of the process: claims event ids, and rebuilds the index from events.unique.

import type { DedupConfig } from '#infra/config/stage_config.ts';
import { failpoint } from '#infra/failpoint.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createDedupIndex, type DedupIndex } from '#infra/redis/indexes/dedup_index.ts';
import type { EventBatchReader } from '#infra/registry/codec.ts';
import { type Deduplicated, deduplicate, type RawEntry, storedKeys } from '#pipelines/dedup/dedup.ts';
import { type IndexRebuild, openStageIndex } from '#services/stage/index_rebuild.ts';
import type { Runtime } from '#services/stage/runtime.ts';

const CLAIMS_PER_CALL = 5_000;

/** The claims in Redis, made again from `events.unique` where Redis has lost them: resolves when they are whole. */
export async function openDedupIndex(runtime: Runtime, config: DedupConfig, reader: EventBatchReader) {
  const { parts, dedupWindowMs: windowMs, dedupBucketChars: bucketChars } = config;
  const { index, use } = await openStageIndex<DedupIndex>(runtime, parts, {
    name: 'claims',
    reads: [TOPICS.raw],
    open: (redis) => createDedupIndex(redis, { windowMs, bucketChars, cluster: redis.isCluster }),
    rebuild,
  });

  /**
   * Makes the claims again of all that passed: events.unique holds each event that passed with its coordinate. Where somebody
   * was interrupted at it, it goes on from there.
   */
  async function rebuild(claims: DedupIndex, { sinceMs, nowMs, read, count }: IndexRebuild): Promise<void> {
    const attempt = await claims.attempt();
    if (attempt.passed.size > 0) {
      runtime.logger.warn({ index: 'claims' }, 'resuming an interrupted index rebuild');
    }
    await read(TOPICS.unique, {
      sinceMs: Math.max(nowMs - windowMs, sinceMs ?? 0),
      passed: attempt.passed,
      async onRecords(records, partition) {
        let waiting: ReturnType<typeof storedKeys> = [];
        const restore = async (): Promise<void> => {
          await claims.restore(waiting);
          count(waiting.length);
          waiting = [];
        };
        for (const record of records) {
          const batch = await reader.read(record.value);
          // What cannot be read went to the dead letters of whoever reads the topic.
          if (batch.ok) waiting.push(...storedKeys(batch.value, bucketChars, record.timestampMs));
          if (waiting.length >= CLAIMS_PER_CALL) await restore();
        }
        await restore();
        const last = records.at(-1);
        if (last !== undefined) await attempt.pass(partition, last.offset + 1);
        failpoint('dedup.rebuilding');
      },
    });
  }

  return {
    async deduplicate(events: readonly RawEntry[]): Promise<Deduplicated> {
      const decided = await use(() => deduplicate(events, index, bucketChars));
      failpoint('dedup.after_claim');
      return decided;
    },
  };
}
