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
import { OUTAGE_DEFAULTS } from '#pipelines/delivery/outage.ts';
import { destinationOf } from '#pipelines/delivery/registry.ts';
import { createTurns } from '#pipelines/delivery/turns.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { buriedRecord } from '#services/batches.ts';
import { withoutCulprits } from '#services/culprits.ts';
import { showLag } from '#services/lag.ts';
import { runProcess } from '#services/runtime.ts';
import { type Attempted, createAttempts } from './attempts.ts';
import { watchChanges } from './changes.ts';
import { createDeliveryIntake } from './intake.ts';
import { watchOutage } from './outage_watch.ts';
import { createDeliveryOutput } from './output.ts';

/** Breakers kept at the most; one is a few dozen bytes and calm ones take none. */
const BREAKERS_MAX = 100_000;
/** Small fetches, so that a crash sends few events a second time. */
const FETCH_BYTES_MAX = 256 * 1024;
/** Calls in flight at the most, so that no site's calls wait for the connections of another's. */
const CALLS_MAX = 64;
/** How soon a change of settings brings what waits for it. */
const CHANGES_POLL_MS = 500;
/** How soon what was left because the settings may be behind is looked at again: each look takes a transaction. */
const SETTINGS_POLL_MS = 1_000;

/** events.identified and this destination's lanes -> the platform; what may be tried again goes to a lane. */
const { destination, baseUrl, allowLoopback } = deliveryConfig(environment());

runProcess(`delivery.${destination}`, async (runtime) => {
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
  const attempts = createAttempts({
    adapter,
    baseUrl,
    table: settings.table,
    ring: parseKeyRing(text(environment(), 'SECRETS_KEYS')),
    breakers,
    turns: createTurns(CALLS_MAX),
    watch,
    egress,
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

  /**
   * While the destination is away all lies where it is; one record at a time shows whether it is back. It lies there too
   * while the settings may be behind: an event must not be passed over because its site's destination is not known yet.
   */
  async function transform(batch: InBatch): Promise<HopResult> {
    const [first, second] = batch.records;
    if (!settings.isCurrent()) return leaving(first?.offset ?? 0, Date.now() + SETTINGS_POLL_MS);
    const permit = watch.ask();
    if (permit.kind === 'wait') return leaving(first?.offset ?? 0, permit.notBeforeMs);
    if (permit.kind === 'go') return attempt(batch, false);
    const probe = await attempt({ ...batch, records: batch.records.slice(0, 1), lag: batch.lag + 1 }, true);
    if (probe.leave !== undefined || second === undefined) return probe;
    return { ...probe, leave: { offset: second.offset, notBeforeMs: Date.now() } };
  }

  async function attempt(batch: InBatch, isProbe: boolean): Promise<HopResult> {
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
    if (isProbe) watch.probed(attempted.some(({ outcome }) => outcome.outcome === 'paused'));
    const awayUntilMs = watch.awayUntilMs();
    if (awayUntilMs !== null && batch.topic === TOPICS.identified && isUnsettled(attempted, letters)) {
      return leaving(batch.records[0]?.offset ?? 0, awayUntilMs);
    }
    const { outputs, tally } = output.write(attempted, letters, Date.now());
    return {
      outputs: [...outputs, ...taken.moved],
      ...(taken.leave === undefined ? {} : { leave: taken.leave }),
      committed: () => publish(metrics, tally, startedMs, Date.now()),
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

/** Nothing is done: the batch stays where it is, and is in nobody's counts. */
function leaving(offset: number, notBeforeMs: number): HopResult {
  return { outputs: [], leave: { offset, notBeforeMs }, committed: () => undefined };
}

/** Whether nothing of a batch is decided: all that was tried is to be tried again. */
function isUnsettled(attempted: readonly Attempted[], letters: readonly DeadLetter[]): boolean {
  const outcomes = attempted.map(({ outcome }) => outcome.outcome);
  const open = outcomes.filter((outcome) => outcome === 'diverted' || outcome === 'paused').length;
  return letters.length === 0 && open > 0 && !outcomes.includes('delivered') && !outcomes.includes('dead');
}
