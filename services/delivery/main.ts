import { randomInt } from 'node:crypto';
import { environment, text } from '#infra/config/config.ts';
import { deliveryConfig } from '#infra/config/stage_config.ts';
import { createEgress, EGRESS_DEFAULTS } from '#infra/egress/send.ts';
import { failpoint } from '#infra/failpoint/failpoint.ts';
import type { InBatch } from '#infra/kafka/consume.ts';
import { publish } from '#infra/kafka/counting.ts';
import { type HopResult, runHop } from '#infra/kafka/hop.ts';
import { deadTopic, TOPICS } from '#infra/kafka/topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { parseKeyRing } from '#infra/secrets/key_ring.ts';
import { followSettings } from '#infra/settings/follow.ts';
import { BREAKER_DEFAULTS } from '#pipelines/delivery/breaker.ts';
import { createBreakers } from '#pipelines/delivery/breakers.ts';
import { topicsOf } from '#pipelines/delivery/lanes.ts';
import { destinationOf } from '#pipelines/delivery/registry.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { buriedRecord } from '#services/batches.ts';
import { withoutCulprits } from '#services/culprits.ts';
import { runProcess } from '#services/runtime.ts';
import { createAttempts } from './attempts.ts';
import { createDeliveryIntake } from './intake.ts';
import { createDeliveryOutput } from './output.ts';

/** Breakers kept at the most; one is a few dozen bytes and calm ones take none. */
const BREAKERS_MAX = 100_000;
/** Small fetches, so that a crash sends few events a second time. */
const FETCH_BYTES_MAX = 256 * 1024;

/** events.identified and this destination's lanes -> the platform; what may be tried again goes to a lane. */
const { destination, baseUrl, allowLoopback } = deliveryConfig(environment());

runProcess(`delivery.${destination}`, async (runtime) => {
  const { session, registry, metrics, logger } = runtime;
  const adapter = destinationOf(destination);
  if (adapter === null) throw new Error(`no destination is called ${destination}`);
  const settings = await followSettings(session, registry, logger, runtime.fatal);
  runtime.onStop(() => settings.stop());
  const egress = createEgress({ ...EGRESS_DEFAULTS, allowHttp: allowLoopback, allowLoopback });
  runtime.onStop(() => egress.close());
  const attempts = createAttempts({
    adapter,
    baseUrl,
    table: settings.table,
    ring: parseKeyRing(text(environment(), 'SECRETS_KEYS')),
    breakers: createBreakers(BREAKER_DEFAULTS, BREAKERS_MAX, Date.now),
    egress,
    logger,
    nowMs: Date.now,
  });
  const intake = await createDeliveryIntake(registry, destination);
  const dead = await createCodec<DeadLetter>(registry, deadTopic('delivery'), 'dead_letter');
  const schemaId = await registry.idOf(TOPICS.identified, 'event_batch');
  const output = await createDeliveryOutput(
    registry,
    adapter,
    session.config.eventPartitions,
    () => randomInt(1_000_000) / 1_000_000,
  );

  async function transform(batch: InBatch): Promise<HopResult> {
    const startedMs = Date.now();
    const taken = await intake.take(batch, startedMs);
    const work = { stage: 'delivery', batch, schemaId, nowMs: startedMs } as const;
    const made = await Promise.all(
      taken.jobs.map((job) =>
        withoutCulprits(
          work,
          job.views,
          (view) => ({ view, coordinate: view.coordinate }),
          (views) => attempts.make({ ...job, views: [...views] }),
        ),
      ),
    );
    failpoint('delivery.after_answer');
    const attempted = made.flatMap(({ results }) => results.flat());
    const letters = [...taken.dead, ...made.flatMap(({ dead }) => dead)];
    const { outputs, tally } = output.write(attempted, letters, Date.now());
    return {
      outputs,
      ...(taken.leave === undefined ? {} : { leave: taken.leave }),
      committed: () => publish(metrics, tally, batch, startedMs, Date.now()),
    };
  }

  const consumption = await runHop({
    kafka: session.kafka,
    admin: session.admin,
    groupId: session.groupOf(`delivery.${destination}`),
    topics: [TOPICS.identified, ...topicsOf(destination)],
    sessionTimeoutMs: session.config.sessionTimeoutMs,
    concurrency: session.config.eventPartitions + topicsOf(destination).length,
    bytesPerPartitionMax: FETCH_BYTES_MAX,
    transform,
    bury: (batch) => buriedRecord('delivery', batch, dead, metrics),
    logger,
    onFatal: runtime.fatal,
  });
  runtime.onStop(() => consumption.stop());
  runtime.ready();
});
