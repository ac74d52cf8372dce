import type { Environment } from '#infra/config/config.ts';
import { type DeliveryConfig, deliveryConfig } from '#infra/config/stage_config.ts';
import { deadTopic, TOPICS } from '#infra/kafka/topics.ts';
import { runTransactionalStage } from '#infra/kafka/transactional_stage/transactional_stage.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { DELIVERY_DRAIN_MS } from '#pipelines/delivery/contract.ts';
import { topicsOf } from '#pipelines/delivery/lanes.ts';
import { DESTINATIONS, destinationNamed } from '#pipelines/delivery/registry.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { poisonPillResult } from '#services/batches.ts';
import { openSettings } from '#services/open_parts.ts';
import { consumerOptions, runStage } from '#services/stage.ts';
import { openCalls } from './calls.ts';
import { createDeliveryIntake } from './job_intake.ts';
import { createDeliveryOutput } from './output.ts';
import { wakeOnChange, watchChanges } from './setting_changes.ts';
import { createTransform } from './transform.ts';

/** Small fetches, so that a crash sends few events a second time. */
const FETCH_BYTES_MAX = 256 * 1024;

const NAMES = DESTINATIONS.map(({ name }) => name);
const read = (env: Environment): DeliveryConfig => deliveryConfig(env, NAMES);
const stageOf = ({ destination }: DeliveryConfig): string => `delivery.${destination}`;

/** events.identified and this destination's lanes -> the platform; what may be tried again goes to a lane. */
runStage(stageOf, read, async (runtime, config) => {
  const { session, registry, metrics } = runtime;
  const adapter = destinationNamed(config.destination);
  const settings = await openSettings(runtime);
  const changes = watchChanges(settings.table, adapter.name, Date.now());
  const calls = openCalls(runtime, adapter, settings.table, config);
  const transform = createTransform({
    ...calls,
    settings,
    intake: await createDeliveryIntake(registry, adapter.name, changes),
    output: await createDeliveryOutput(registry, adapter, session.config.eventPartitions),
    metrics,
    schemaId: await registry.idOf(TOPICS.identified, 'event_batch'),
    nowMs: Date.now,
  });
  const dead = await createCodec<DeadLetter>(registry, deadTopic('delivery'), 'dead_letter');
  const topics = [TOPICS.identified, ...topicsOf(adapter.name)];
  const options = consumerOptions(runtime);
  const consumption = await runTransactionalStage({
    ...options,
    admin: session.admin,
    topics,
    // Partitions of events side by side, and one of each lane.
    concurrency: options.concurrency + topics.length - 1,
    bytesPerPartitionMax: FETCH_BYTES_MAX,
    drainMs: DELIVERY_DRAIN_MS,
    transform,
    deadLetter: (batch) => poisonPillResult('delivery', batch, dead, metrics),
  });
  wakeOnChange(runtime, changes, consumption);
  return consumption;
});
