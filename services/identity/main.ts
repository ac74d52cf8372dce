import { randomUUID } from 'node:crypto';
import { identityConfig } from '#infra/config/stage_config.ts';
import { failpoint } from '#infra/failpoint/failpoint.ts';
import { FOLLOWING, type InBatch } from '#infra/kafka/consumer/consume.ts';
import { emptyTally, publish } from '#infra/kafka/counting.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { deadTopic, SMALL_PARTITIONS, TOPICS } from '#infra/kafka/topics.ts';
import { type HopResult, runHop } from '#infra/kafka/transactional_stage/transactional_stage.ts';
import { createRedis } from '#infra/redis/client.ts';
import { createIdentityStore } from '#infra/redis/identity.ts';
import { keepIndex } from '#infra/redis/rebuildable_index.ts';
import { type Codec, createBatchReader, createCodec } from '#infra/registry/codec.ts';
import { identify } from '#pipelines/identity/identify.ts';
import { memoize } from '#pipelines/memoize.ts';
import { encodePerson } from '#schemas/event_batch.ts';
import { type IdentityLink, linkKey } from '#schemas/identity_link.ts';
import { partitionOf, personPartition } from '#schemas/partition.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { buriedRecord, deadRecords, packBatches, readRecords } from '#services/batches.ts';
import { showLag } from '#services/lag.ts';
import { withoutCulprits } from '#services/poison_pills.ts';
import { runProcess } from '#services/runtime.ts';
import { rebuildIdentity } from './rebuild.ts';

/** events.unique -> events.identified: attaches who the event belongs to and what is known of them. */
runProcess('identity', identityConfig, async (runtime, { identitySecret: secret }) => {
  const { session, registry, metrics, logger } = runtime;
  const reader = await createBatchReader(registry, TOPICS.identified);
  const links = await createCodec<IdentityLink>(registry, TOPICS.links, 'identity_link');
  const dead = await createCodec<DeadLetter>(registry, deadTopic('identity'), 'dead_letter');
  const redis = createRedis(runtime.config.parts.redisUrl, logger);
  runtime.onStop(async () => redis.disconnect());
  const store = createIdentityStore(redis);
  const groupId = session.groupOf('identity');
  const rebuild = { session, groupId, reader, links, store, secret, logger, nowMs: Date.now };
  const index = keepIndex({
    name: 'identity',
    redis,
    epoch: store.epoch,
    rebuild: (sinceMs) => rebuildIdentity(rebuild, sinceMs),
    token: randomUUID(),
    logger,
    nowMs: Date.now,
  });
  runtime.ableWhen('redis', index.isReady);
  await index.await();
  const capped = metrics.counter('svc_identity_capped_total', 'Identifiers not followed at the cap of persons', []);
  const partitions = session.config.eventPartitions;

  async function transform(batch: InBatch): Promise<HopResult> {
    const startedMs = Date.now();
    const read = await readRecords('identity', batch, batch.records, reader, startedMs);
    const views = read.records.flatMap((record) => record.views);
    const work = { stage: 'identity', batch, schemaId: reader.schemaId, nowMs: startedMs } as const;
    const { results, dead: culprits } = await withoutCulprits(
      work,
      views,
      (view) => ({ view, coordinate: view.coordinate }),
      (some) => index.use(() => identify(some, store, secret)),
    );
    failpoint('identity.after_resolve');
    const tally = emptyTally();
    const bytesOf = memoize(encodePerson);
    const partitionIn = memoize((siteId: string) =>
      memoize((personId: string) => personPartition(siteId, personId, partitions)),
    );
    const outputs = packBatches(
      TOPICS.identified,
      reader.schemaId,
      results.flatMap(({ entries }) =>
        entries.map(({ view, coordinate, person }) => ({
          partition: partitionIn(view.siteId)(person.person_id),
          coordinate,
          personBytes: bytesOf(person),
          eventBytes: view.eventBytes,
        })),
      ),
    );
    outputs.push(
      ...results.flatMap((result) => linkRecords(result.links, links)),
      ...deadRecords('identity', [...read.dead, ...culprits], dead, tally, SMALL_PARTITIONS),
    );
    tally.passed = views.length - culprits.length;
    tally.in += tally.passed;
    tally.oldestMs = views[0]?.receivedAtMs ?? null;
    return {
      outputs,
      committed() {
        for (const result of results) capped.inc(result.capped);
        publish(metrics, tally, startedMs, Date.now());
      },
    };
  }

  const consumption = await runHop({
    kafka: session.kafka,
    admin: session.admin,
    groupId,
    topics: [TOPICS.unique, TOPICS.againIdentity],
    sessionTimeoutMs: session.config.sessionTimeoutMs,
    watchdogMs: session.config.watchdogMs,
    concurrency: partitions,
    ...FOLLOWING,
    partitionsTogether: session.config.partitionGroupSize,
    transform,
    bury: (batch) => buriedRecord('identity', batch, dead, metrics),
    logger,
    onSkipped: metrics.skipped,
    onFatal: runtime.fatal,
  });
  runtime.onStop(() => consumption.stop());
  showLag(runtime, 'identity', consumption);
  runtime.ready();
});

function linkRecords(links: readonly IdentityLink[], codec: Codec<IdentityLink>): OutRecord[] {
  return links.map((link) => {
    const key = linkKey(link);
    return { topic: TOPICS.links, partition: partitionOf(key, SMALL_PARTITIONS), key, value: codec.encode(link) };
  });
}
