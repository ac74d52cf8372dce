import { openFencedProducer } from '#infra/kafka/producer/fenced_producer.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { FollowedReplays } from '#infra/replay/follow_replays.ts';
import { newProgress } from '#pipelines/replay/progress.ts';
import type { ReplayPhase, ReplayProgress } from '#schemas/replay_progress.ts';
import type { Replay } from '#schemas/setting.ts';
import { createReplayTurns } from './replay_turns.ts';
import type { ReplayContext } from './run_context.ts';
import { endReplay, type RunOptions, runReplay } from './run_replay.ts';

/** Carries out the replays that the settings command. */
export interface ReplayRunner {
  /** Begins the replays that are to run and do not. */
  begin(): void;
  /** Deletes what is known of replays whose command was removed. */
  sweep(): Promise<void>;
  /** Forgets what was saved here: from now on another process may save more. */
  forget(): void;
  /** Resolves when nothing is under way here. */
  ended(): Promise<void>;
}

export interface ReplayRunnerOptions {
  context: ReplayContext;
  /** Carries one on until it is over or stopped. */
  run?: (options: RunOptions) => Promise<void>;
  replays: Pick<FollowedReplays, 'states' | 'readNow'>;
  /** Whether this process is still the one that carries replays out. */
  leads(): boolean;
  onFatal(error: unknown): void;
}

export function createReplayRunner(options: ReplayRunnerOptions): ReplayRunner {
  const { context, replays, leads, onFatal, run = carryOn } = options;
  const { table, nowMs } = context;
  const running = new Map<string, Promise<void>>();
  /** What was saved here may not have been read back yet. */
  const saved = new Map<string, ReplayProgress>();
  const phaseOf = ({ replay_id: id }: Replay): ReplayPhase =>
    (saved.get(id) ?? replays.states.get(id))?.phase ?? 'waiting';
  const turns = createReplayTurns({ table, phaseOf, nowMs });

  const optionsOf = (replay: Replay, beganMs: number): RunOptions => ({
    context,
    replay,
    readProgress: async () => (await replays.readNow(replay.replay_id)) ?? newProgress(replay.replay_id, nowMs()),
    saved: (progress) => saved.set(progress.replay_id, progress),
    stopped() {
      const isWanted = leads() && table.replay(replay.replay_id)?.wanted === 'running';
      return !isWanted || turns.makesWay(replay, beganMs);
    },
  });

  return {
    /** One replay of a destination at a time: each must know what the one before has sent. */
    begin() {
      for (const destination of new Set(table.replays().map((replay) => replay.destination))) {
        if (running.has(destination)) continue;
        const replay = turns.begin(destination);
        if (replay === undefined) continue;
        const work = run(optionsOf(replay, nowMs())).catch(onFatal);
        running.set(
          destination,
          work.then(() => void running.delete(destination)),
        );
      }
    },
    async sweep() {
      const gone = [...replays.states.keys()].filter((id) => table.replay(id) === undefined);
      if (gone.length === 0) return;
      await deleteProgress(context, gone);
      for (const id of gone) saved.delete(id);
    },
    forget: () => saved.clear(),
    async ended() {
      await Promise.all(running.values());
    },
  };
}

async function carryOn(options: RunOptions): Promise<void> {
  const { replay, context } = options;
  if (replay.wanted === 'cancelled') return endReplay(options, 'cancelled', '');
  try {
    await runReplay(options);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== 'too_many_letters' && code !== 'warehouse_refused') throw error;
    context.logger.error({ replay: replay.replay_id, code }, 'replay failed');
    await endReplay(options, 'failed', code);
  }
}

async function deleteProgress({ session }: ReplayContext, ids: readonly string[]): Promise<void> {
  const producer = await openFencedProducer(session.kafka, session.groupOf('replay.sweep'));
  const records = ids.map((key) => ({ key, value: null }));
  try {
    await producer.append(TOPICS.replays, 0, records);
  } finally {
    await producer.close();
  }
}
