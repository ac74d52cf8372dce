import { setTimeout as sleep } from 'node:timers/promises';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { processConfig } from '#infra/config/service_config.ts';
import { openFencedProducer } from '#infra/kafka/producer/fenced_producer.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { followReplays } from '#infra/replay/follow_replays.ts';
import { followSettings } from '#infra/settings/follow_settings.ts';
import { replayTopic } from '#pipelines/delivery/lanes.ts';
import { isOver, newProgress } from '#pipelines/replay/progress.ts';
import type { DeliveryJobRecord } from '#schemas/records.ts';
import type { ReplayProgress } from '#schemas/replay_progress.ts';
import type { Replay } from '#schemas/setting.ts';
import { runProcess } from '#services/runtime.ts';
import { joinLeaders } from './leader.ts';
import type { ReplayContext } from './run_context.ts';
import { endReplay, type RunOptions, runReplay } from './run_replay.ts';

const POLL_MS = 250;

/** Commands on site.config -> what they name of events.identified or the dead letters -> delivery's replay topics. */
runProcess('replay', processConfig, async (runtime) => {
  const { session, registry, logger } = runtime;
  const settings = await followSettings(session, registry, logger, runtime.fatal);
  runtime.onStop(() => settings.stop());
  const replays = await followReplays(session, registry, logger, runtime.fatal);
  runtime.onStop(() => replays.stop());
  const warehouse = createWarehouse(runtime.config.parts.clickhouseUrl);
  runtime.onStop(() => warehouse.close());
  const context: ReplayContext = {
    session,
    registry,
    warehouse,
    table: settings.table,
    progress: replays.codec,
    jobsOf: (destination) => createCodec<DeliveryJobRecord>(registry, replayTopic(destination), 'delivery_job'),
    eventSchemaId: await registry.idOf(TOPICS.identified, 'event_batch'),
    logger,
    nowMs: Date.now,
  };
  const leaders = await joinLeaders(session, logger, runtime.fatal);
  const running = new Map<string, Promise<void>>();
  let stopping = false;

  /** What was saved here may not have been read back yet. */
  const saved = new Map<string, ReplayProgress>();
  const progressOf = (id: string): ReplayProgress | undefined => saved.get(id) ?? replays.states.get(id);
  const isOpen = ({ replay_id }: Replay): boolean => !isOver(progressOf(replay_id)?.phase ?? 'waiting');

  function optionsOf(replay: Replay): RunOptions {
    return {
      context,
      replay,
      readProgress: async () => (await replays.readNow(replay.replay_id)) ?? newProgress(replay.replay_id, Date.now()),
      saved: (progress) => saved.set(progress.replay_id, progress),
      stopped: () => stopping || !leaders.isLeader() || settings.table.replay(replay.replay_id)?.wanted !== 'running',
    };
  }

  async function carryOn(replay: Replay): Promise<void> {
    const options = optionsOf(replay);
    if (replay.wanted === 'cancelled') return endReplay(options, 'cancelled', '');
    try {
      await runReplay(options);
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code !== 'too_many_letters' && code !== 'warehouse_refused') throw error;
      logger.error({ replay: replay.replay_id, code }, 'replay failed');
      await endReplay(options, 'failed', code);
    }
  }

  /** One replay of a destination at a time, the oldest first: each must know what the one before has sent. */
  function begin(): void {
    for (const replay of settings.table.replays()) {
      if (running.has(replay.destination) || replay.wanted === 'paused' || !isOpen(replay)) continue;
      const work = carryOn(replay).catch(runtime.fatal);
      running.set(
        replay.destination,
        work.then(() => void running.delete(replay.destination)),
      );
    }
  }

  /** What is known of replays whose command was removed goes too. */
  async function sweep(): Promise<void> {
    const gone = [...replays.states.keys()].filter((id) => settings.table.replay(id) === undefined);
    if (gone.length === 0) return;
    const producer = await openFencedProducer(session.kafka, session.groupOf('replay.sweep'));
    const records = gone.map((key) => ({ key, value: null }));
    try {
      await producer.append(TOPICS.replays, 0, records);
    } finally {
      await producer.close();
    }
    for (const id of gone) saved.delete(id);
  }

  async function lead(): Promise<void> {
    while (!stopping) {
      if (leaders.isLeader()) {
        begin();
        await sweep();
      } else saved.clear();
      await sleep(POLL_MS);
    }
    await Promise.all(running.values());
  }

  runtime.onStop(() => leaders.stop());
  const leading = lead();
  leading.catch(runtime.fatal);
  runtime.onStop(async () => {
    stopping = true;
    await leading;
  });
  runtime.ready();
});
