import { setTimeout as sleep } from 'node:timers/promises';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { type ClickhouseParts, replayConfig } from '#infra/config/service_config.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { type FollowedReplays, followReplays } from '#infra/redelivery/replay_topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { replayTopic } from '#pipelines/delivery/retry_topics.ts';
import type { DeliveryJobRecord } from '#schemas/records.ts';
import { openSettings, openSuppressionList, type Runtime, runProcess } from '#services/stage/runtime.ts';
import { joinLeaderElection } from '#services/stage/stage.ts';
import { createReplayRunner } from './replay_runner.ts';
import type { ReplayContext } from './replay_source.ts';

const POLL_MS = 250;

/** Commands on site.config -> what they name of events.identified or the dead letters -> delivery's replay topics. */
runProcess('replay', replayConfig, async (runtime, config) => {
  const { session, registry, logger, fatal, onStop } = runtime;
  const { table } = await openSettings(runtime);
  const replays = await followReplays(session, registry, logger, fatal);
  onStop(() => replays.stop());
  const suppressed = await openSuppressionList(runtime, config.identitySecret);
  const context = await openContext(runtime, config.parts, { table, suppressed }, replays);
  const leaders = await joinLeaderElection(runtime, 'replay', TOPICS.replays);
  onStop(() => leaders.stop());
  let stopping = false;
  const leads = (): boolean => !stopping && leaders.isLeader();
  const runner = createReplayRunner({ context, replays, leads, onFatal: fatal });

  async function lead(): Promise<void> {
    while (!stopping) {
      if (leads()) {
        runner.begin();
        await runner.sweep();
      } else runner.forget();
      await sleep(POLL_MS);
    }
    await runner.ended();
  }

  const leading = lead();
  leading.catch(fatal);
  onStop(async () => {
    stopping = true;
    await leading;
  });
  runtime.ready();
});

async function openContext(
  { session, registry, logger, onStop }: Runtime,
  { clickhouseUrl }: Pick<ClickhouseParts, 'clickhouseUrl'>,
  followed: Pick<ReplayContext, 'table' | 'suppressed'>,
  replays: Pick<FollowedReplays, 'codec'>,
): Promise<ReplayContext> {
  const warehouse = createWarehouse(clickhouseUrl);
  onStop(() => warehouse.close());
  return {
    session,
    registry,
    warehouse,
    ...followed,
    progress: replays.codec,
    jobsOf: (kind) => createCodec<DeliveryJobRecord>(registry, replayTopic(kind), 'delivery_job'),
    eventSchemaId: await registry.idOf(TOPICS.identified, 'event_batch'),
    logger,
    nowMs: Date.now,
  };
}
