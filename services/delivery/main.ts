import { randomInt } from 'node:crypto';
import type { Environment } from '#infra/config/config.ts';
import { type DeliveryConfig, deliveryConfig } from '#infra/config/stage_config.ts';
import { createEgress, EGRESS_DEFAULTS } from '#infra/egress/send.ts';
import { deadTopic, TOPICS } from '#infra/kafka/topics.ts';
import { runHop } from '#infra/kafka/transactional_stage/transactional_stage.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { parseKeyRing } from '#infra/secrets/key_ring.ts';
import { followSettings } from '#infra/settings/follow.ts';
import { BREAKER_DEFAULTS } from '#pipelines/delivery/breaker.ts';
import { createBreakers } from '#pipelines/delivery/breakers.ts';
import { DELIVERY_DRAIN_MS } from '#pipelines/delivery/contract.ts';
import { topicsOf } from '#pipelines/delivery/lanes.ts';
import { OUTAGE_DEFAULTS } from '#pipelines/delivery/outage.ts';
import { createRefusals } from '#pipelines/delivery/refusals.ts';
import { DESTINATIONS, destinationOf } from '#pipelines/delivery/registry.ts';
import { createTurns } from '#pipelines/delivery/turns.ts';
import { createUncommittedOutcomes } from '#pipelines/delivery/uncommitted.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { buriedRecord } from '#services/batches.ts';
import { showLag } from '#services/lag.ts';
import { runProcess } from '#services/runtime.ts';
import { createAttempts } from './attempts.ts';
import { watchChanges } from './changes.ts';
import { createDeliveryIntake } from './intake.ts';
import { watchOutage } from './outage_watch.ts';
import { createDeliveryOutput } from './output.ts';
import { createTransform } from './transform.ts';

/** Breakers kept at the most; one is a few dozen bytes and calm ones take none. */
const BREAKERS_MAX = 100_000;
/** Sites whose refusals are remembered at the most. */
const REFUSALS_MAX = 10_000;
/** Small fetches, so that a crash sends few events a second time. */
const FETCH_BYTES_MAX = 256 * 1024;
/** Calls in flight at the most, so that no site's calls wait for the connections of another's. */
const CALLS_MAX = 64;
/** How soon a change of settings brings what waits for it. */
const CHANGES_POLL_MS = 500;
/** Outcomes kept at the most until they are committed; some 150 bytes each. */
const UNCOMMITTED_MAX = 100_000;

const NAMES = DESTINATIONS.map(({ name }) => name);
const read = (env: Environment): DeliveryConfig => deliveryConfig(env, NAMES);
const stageOf = (config: DeliveryConfig): string => `delivery.${config.destination}`;

/** events.identified and this destination's lanes -> the platform; what may be tried again goes to a lane. */
runProcess(stageOf, read, async (runtime, config) => {
  const { destination, baseUrl, allowLoopback } = config;
  const { session, registry, metrics, logger } = runtime;
  const adapter = destinationOf(destination);
  if (adapter === null) throw new Error(`no destination is called ${destination}`);
  const settings = await followSettings(session, registry, logger, runtime.fatal);
  runtime.onStop(() => settings.stop());
  const egress = createEgress({
    ...EGRESS_DEFAULTS,
    connectionsMax: CALLS_MAX,
    allowHttp: allowLoopback,
    allowLoopback,
  });
  runtime.onStop(() => egress.close());
  const breakers = createBreakers(BREAKER_DEFAULTS, BREAKERS_MAX, Date.now);
  const sites = settings.table.destinationsNamed(destination);
  const watch = watchOutage({
    destination,
    config: OUTAGE_DEFAULTS,
    breakers,
    sites: () => sites.size,
    logger,
    nowMs: Date.now,
  });
  const shortfall = metrics.counter(
    'svc_delivery_shortfall_events_total',
    'Events that a destination did not take of a call, without saying which',
    [],
  );
  const uncommitted = createUncommittedOutcomes(UNCOMMITTED_MAX);
  const attempts = createAttempts({
    adapter,
    baseUrl,
    table: settings.table,
    ring: parseKeyRing(config.secretsKeys),
    breakers,
    turns: createTurns(CALLS_MAX),
    watch,
    egress,
    uncommitted,
    refusals: createRefusals(REFUSALS_MAX, Date.now),
    fellShort: (events) => shortfall.inc(events),
    logger,
    nowMs: Date.now,
  });
  const changes = watchChanges(settings.table, destination, Date.now());
  const intake = await createDeliveryIntake(registry, destination, changes);
  const dead = await createCodec<DeadLetter>(registry, deadTopic('delivery'), 'dead_letter');
  const schemaId = await registry.idOf(TOPICS.identified, 'event_batch');
  const output = await createDeliveryOutput(
    registry,
    adapter,
    session.config.eventPartitions,
    () => randomInt(1_000_000) / 1_000_000,
  );

  const transform = createTransform({
    settings,
    watch,
    intake,
    attempts,
    output,
    uncommitted,
    metrics,
    schemaId,
    nowMs: Date.now,
  });
  const consumption = await runHop({
    kafka: session.kafka,
    admin: session.admin,
    groupId: session.groupOf(`delivery.${destination}`),
    topics: [TOPICS.identified, ...topicsOf(destination)],
    sessionTimeoutMs: session.config.sessionTimeoutMs,
    watchdogMs: session.config.watchdogMs,
    concurrency: session.config.eventPartitions + topicsOf(destination).length,
    bytesPerPartitionMax: FETCH_BYTES_MAX,
    drainMs: DELIVERY_DRAIN_MS,
    transform,
    bury: (batch) => buriedRecord('delivery', batch, dead, metrics),
    logger,
    onSkipped: metrics.skipped,
    onFatal: runtime.fatal,
  });
  runtime.onStop(() => consumption.stop());
  showLag(runtime, `delivery.${destination}`, consumption);
  const looking = setInterval(() => {
    if (changes.look(Date.now())) consumption.wake();
  }, CHANGES_POLL_MS);
  runtime.onStop(async () => clearInterval(looking));
  runtime.ready();
});
