import { type DeliveryConfig, deliveryConfig } from '#infra/config/stage_config.ts';
import { deadTopic, TOPICS } from '#infra/kafka/topics.ts';
import { runTransactionalStage } from '#infra/kafka/transactional_stage.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { DELIVERY_DRAIN_MS } from '#pipelines/delivery/contract.ts';
import { DESTINATIONS, destinationNamed } from '#pipelines/delivery/registry.ts';
import { replayTopic, topicsOf } from '#pipelines/delivery/retry_topics.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { beginBatchSpans } from '#services/stage/batch_spans.ts';
import { deadLetterResult } from '#services/stage/batches.ts';
import { openSettings, openSuppressionList } from '#services/stage/runtime.ts';
import { consumerOptions, runStage } from '#services/stage/stage.ts';
import { openDeliveries } from './attempts.ts';
import { createJobReader } from './job_reader.ts';
import { createDeliveryOutput } from './output.ts';
import { createRetryPolls, type Releases, retryOnRelease, watchReleases } from './retry_topics.ts';
import { createTransform } from './transform.ts';

/** Small fetches, so that a crash sends few events a second time. */
const FETCH_BYTES_MAX = 256 * 1024;
/** What identity commits in two transactions comes as one batch, in which what arrives meanwhile has to fit. */
const LINGER_MS = 200;
const BATCH_BYTES_MAX = 1024 * 1024;
/** Of most sites a destination has nothing to deliver: a transaction for each batch took half of all requests of the broker. */
const EMPTY_MS = 1_000;
const FETCH_WAIT_MS = 500;
const NAMES = DESTINATIONS.map(({ name }) => name);
const stageOf = ({ destination }: DeliveryConfig): string => `delivery.${destination}`;

/**
 * Reads `events.identified` and the retry topics of one kind of destination, calls the platform, then commits one Kafka transaction with the
 * outcomes on `delivery.outcomes`, what is to be tried again on a retry topic, and the offset; an event that can never be delivered,
 * and a record that cannot be read, go to `dead.delivery` in the same transaction.
 */
runStage(
  stageOf,
  (env) => deliveryConfig(env, NAMES),
  async (runtime, config) => {
    const { session, registry, metrics, tracer } = runtime;
    const { eventPartitions, smallPartitions } = session.config;
    const adapter = destinationNamed(config.destination);
    const options = consumerOptions(runtime);
    const { groupId } = options;
    const retryTopics = topicsOf(adapter.name);
    const settings = await openSettings(runtime);
    const returned = (target: string): void => releases.returned(target, Date.now());
    const { attempts, watch, uncommitted, isInTrouble } = openDeliveries(
      runtime,
      adapter,
      settings.table,
      returned,
      config,
    );
    let assigned = (): number => 0;
    const scans = createRetryPolls(
      Date.now(),
      () => assigned() === eventPartitions + retryTopics.length * smallPartitions,
    );
    const releases: Releases = watchReleases({
      table: settings.table,
      kind: adapter.name,
      isInTrouble,
      scans,
      beganMs: Date.now(),
    });
    const suppressed = await openSuppressionList(runtime, config.identitySecret);
    const ofKind = settings.table.destinationsOfKind(adapter.name);
    const idsOf = (siteId: string) => ofKind.get(siteId)?.map(({ name }) => name) ?? [];
    const jobs = await createJobReader(registry, adapter.name, idsOf, { releases, scans }, suppressed);
    const schemaId = await registry.idOf(TOPICS.identified, 'event_batch');
    const transform = createTransform({
      ...{ attempts, watch, uncommitted, metrics, jobs, schemaId },
      isCurrent: () => settings.isCurrent() && suppressed.isCurrent(),
      spansOf: (batch, startMs) =>
        beginBatchSpans(tracer, batch, { groupId, startMs, isReplay: batch.topic === replayTopic(adapter.name) }),
      output: await createDeliveryOutput(registry, adapter, session.config, (record) =>
        scans.recordParked(
          record.retryTopic,
          record.target,
          Date.now(),
          releases.isReleased(record.target, record.waitsSinceMs, record.isPaused),
        ),
      ),
      nowMs: Date.now,
    });
    const deadLetters = await createCodec<DeadLetter>(registry, deadTopic('delivery'), 'dead_letter');
    const consumption = await runTransactionalStage({
      ...options,
      admin: session.admin,
      offsetsTopic: TOPICS.stageOffsets,
      topics: [TOPICS.identified, ...retryTopics],
      // All partitions of events.identified side by side, and one of each retry topic.
      concurrency: options.concurrency + retryTopics.length,
      bytesPerPartitionMax: FETCH_BYTES_MAX,
      batchBytesMax: BATCH_BYTES_MAX,
      lingerMs: LINGER_MS,
      fetchWaitMs: FETCH_WAIT_MS,
      emptyMs: EMPTY_MS,
      drainMs: DELIVERY_DRAIN_MS,
      transform,
      deadLetter: (batch) =>
        deadLetterResult(
          {
            ...{ stage: 'delivery', codec: deadLetters, metrics, schemaId },
            partitions: smallPartitions,
            viewsOf: ({ value }) => jobs.viewsOf(batch.topic, value),
            destinationsOf: ({ value }) => jobs.destinationsOf(batch.topic, value),
          },
          batch,
        ),
    });
    assigned = () => consumption.assigned().length;
    retryOnRelease(runtime, releases, consumption);
    return consumption;
  },
);
