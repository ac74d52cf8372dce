import { openFencedProducer } from '#infra/kafka/producer/fenced_producer.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { inPhase, isOver } from '#pipelines/replay/progress.ts';
import type { ReplayPhase, ReplayProgress } from '#schemas/replay_progress.ts';
import type { Replay } from '#schemas/setting.ts';
import { createProgressLog } from './progress_log.ts';
import { count, drain, plan, type ReplayRun, send } from './replay_phases.ts';
import type { ReplayContext } from './run_context.ts';
import { openSource } from './source.ts';

export interface RunOptions {
  context: ReplayContext;
  replay: Replay;
  /** What stands on the topic, read after every earlier writer was fenced. */
  readProgress(): Promise<ReplayProgress>;
  saved(progress: ReplayProgress): void;
  /** Whether it is to stop where it is: paused, cancelled, or no longer ours. */
  stopped(): boolean;
}

/** Carries a replay on from where it is, until it is over or to stop; resolves when nothing of it is under way here. */
export async function runReplay({ context, replay, readProgress, saved, stopped }: RunOptions): Promise<void> {
  const { session } = context;
  const producer = await openFencedProducer(session.kafka, session.groupOf(`replay.${replay.destination}`));
  try {
    const jobs = await context.jobsOf(replay.destination);
    const log = createProgressLog({ producer, codec: context.progress, progress: await readProgress(), saved });
    const source = await openSource(context.registry, replay);
    await runPhases({ context, replay, source, jobs, log, stopped });
  } finally {
    await producer.close();
  }
}

async function runPhases(run: ReplayRun): Promise<void> {
  const isIn = (phase: ReplayPhase): boolean => run.log.now().phase === phase;
  if (isIn('waiting') && !(await plan(run))) return;
  if (isIn('counting') && !(await count(run))) return;
  if (isIn('sending') && !(await send(run))) return;
  if (isIn('draining')) await drain(run);
}

/** Writes that a replay has ended, and why. */
export async function endReplay(
  { context, replay, readProgress, saved }: Omit<RunOptions, 'stopped'>,
  phase: 'cancelled' | 'failed',
  detail: string,
): Promise<void> {
  const { session } = context;
  const producer = await openFencedProducer(session.kafka, session.groupOf(`replay.${replay.destination}`));
  try {
    const progress = await readProgress();
    if (isOver(progress.phase)) return saved(progress);
    const ended = inPhase(progress, phase, detail, context.nowMs());
    await producer.append(TOPICS.replays, 0, [{ key: replay.replay_id, value: context.progress.encode(ended) }]);
    saved(ended);
  } finally {
    await producer.close();
  }
}
