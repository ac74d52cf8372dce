// Which replay runs next, on one leader at a time.
import { openFencedProducer } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { FollowedReplays } from '#infra/redelivery/replay_topics.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { isOver, newProgress, nextTurn, type OpenReplay, shouldYield } from '#pipelines/redelivery/replay.ts';
import type { ReplayPhase, ReplayProgress } from '#schemas/records.ts';
import type { Replay } from '#schemas/setting.ts';
import type { ReplayContext } from './replay_source.ts';
import { endReplay, type RunOptions, runReplay } from './run_replay.ts';

interface ReplayRunnerOptions {
  context: ReplayContext;
  /** Carries one on until it is over or stopped. */
  run?: (options: RunOptions) => Promise<void>;
  replays: Pick<FollowedReplays, 'states' | 'readNow'>;
  /** Whether this process is still the one that carries replays out. */
  leads(): boolean;
  onFatal(error: unknown): void;
}

/** Carries out the replays that the settings command. */
export function createReplayRunner(options: ReplayRunnerOptions) {
  const { context, replays, leads, onFatal, run = carryOn } = options;
  const { table, nowMs } = context;
  const running = new Map<string, Promise<void>>();
  /** What was saved here may not have been read back yet. */
  const saved = new Map<string, ReplayProgress>();
  const phaseOf = ({ replay_id: id }: Replay): ReplayPhase =>
    (saved.get(id) ?? replays.states.get(id))?.phase ?? 'waiting';
  const turns = createReplayTurns(context, phaseOf);

  const optionsOf = (replay: Replay, beganMs: number): RunOptions => ({
    context,
    replay,
    readProgress: async () => (await replays.readNow(replay.replay_id)) ?? newProgress(replay.replay_id, nowMs()),
    saved: (progress) => saved.set(progress.replay_id, progress),
    stopped() {
      const isWanted = leads() && table.replay(replay.replay_id)?.wanted === 'running';
      return !isWanted || turns.shouldYield(replay, beganMs);
    },
  });

  return {
    /** Begins the replays that are to run: to destinations of a kind one at a time, as each must know what the one before has sent. */
    begin(): void {
      for (const kind of new Set(table.replays().map(({ destination }) => kindOfDestination(destination)))) {
        if (running.has(kind)) continue;
        const replay = turns.begin(kind);
        if (replay === undefined) continue;
        const work = run(optionsOf(replay, nowMs())).catch(onFatal);
        running.set(
          kind,
          work.then(() => void running.delete(kind)),
        );
      }
    },
    /** Deletes what is known of replays whose command was removed. */
    async sweep(): Promise<void> {
      const gone = [...replays.states.keys()].filter((id) => table.replay(id) === undefined);
      if (gone.length === 0) return;
      await deleteProgress(context, gone);
      for (const id of gone) saved.delete(id);
    },
    /** Forgets what was saved here: from now on another process may save more. */
    forget: (): void => saved.clear(),
    /** Resolves when nothing is under way here. */
    async ended(): Promise<void> {
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

/** Whose turn it is at the destinations of each kind. */
function createReplayTurns(
  { table, nowMs }: Pick<ReplayContext, 'table' | 'nowMs'>,
  phaseOf: (replay: Replay) => ReplayPhase,
) {
  /** When each account last had its turn, by kind. */
  const lastTurns = new Map<string, Map<string | null, number>>();

  const accountOf = ({ site_id: siteId }: Replay): string | null =>
    siteId === null ? null : (table.accountOfSite(siteId)?.account_id ?? '');

  /** Those to a kind that may be carried on, the oldest first. */
  const openOf = (kind: string): OpenReplay[] =>
    table
      .replays()
      .filter(({ destination }) => kindOfDestination(destination) === kind)
      .filter((replay) => replay.wanted !== 'paused' && !isOver(phaseOf(replay)))
      .map((replay) => ({
        replay,
        account: accountOf(replay),
        isBegun: ['sending', 'draining'].includes(phaseOf(replay)),
      }));

  function turnsAt(kind: string): Map<string | null, number> {
    const turns = lastTurns.get(kind) ?? new Map<string | null, number>();
    lastTurns.set(kind, turns);
    return turns;
  }

  const next = (kind: string): OpenReplay | undefined => nextTurn(openOf(kind), turnsAt(kind));

  return {
    /** Begins the turn of the replay that is to be carried on; undefined where there is none. */
    begin(kind: string): Replay | undefined {
      const turn = next(kind);
      if (turn !== undefined) turnsAt(kind).set(turn.account, nowMs());
      return turn?.replay;
    },
    /** Whether a replay whose turn began then makes way for that of another account. */
    shouldYield(replay: Replay, beganMs: number): boolean {
      // Counting begins anew when it was stopped, and would never end.
      if (phaseOf(replay) !== 'sending') return false;
      return shouldYield(accountOf(replay), next(kindOfDestination(replay.destination)), nowMs() - beganMs);
    },
  };
}
