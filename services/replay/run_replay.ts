import { setTimeout as sleep } from 'node:timers/promises';
import { createMutex } from '#infra/concurrency/mutex.ts';
import { openFencedProducer, type PartitionRecords } from '#infra/kafka/producer/fenced_producer.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { replayTopic } from '#pipelines/delivery/lanes.ts';
import { addCounts, beginReading, inPhase, isOver } from '#pipelines/replay/progress.ts';
import type { ReplayProgress } from '#schemas/replay_progress.ts';
import type { Replay } from '#schemas/setting.ts';
import { createBackpressure, createRateLimit } from './backpressure.ts';
import { jobRecords } from './job_records.ts';
import { createJudge } from './judge.ts';
import { isCaughtUp } from './offsets.ts';
import { planRange } from './range_plan.ts';
import { readRange, type Slice } from './reading.ts';
import type { ReplayContext } from './run_context.ts';
import { openSource } from './source.ts';

const POLL_MS = 500;
/** How often what was counted is written down; what is sent is written down with each job. */
const SAVE_MS = 1_000;
/** Records of events, or letters, taken at once. */
const RECORDS_MAX = 50;
/** Steps in which a second's worth of events is sent, where each record holds one. */
const STEPS_PER_S = 10;

/** What was written cannot be known here: the process ends, and the next one reads it behind a fence. */
class ReplayNotSavedError extends Error {
  readonly code = 'replay_not_saved';
}

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
export async function runReplay(options: RunOptions): Promise<void> {
  const { context, replay, stopped } = options;
  const { session, nowMs } = context;
  const producer = await openFencedProducer(session.kafka, session.groupOf(`replay.${replay.destination}`));
  try {
    const mutex = createMutex();
    const jobs = await context.jobsOf(replay.destination);
    let progress = await options.readProgress();

    const save = (change: (now: ReplayProgress) => ReplayProgress, records: readonly PartitionRecords[] = []) =>
      mutex.run(async () => {
        const next = change(progress);
        const value = context.progress.encode(next);
        const place: PartitionRecords = [TOPICS.replays, 0, [{ key: replay.replay_id, value }]];
        await producer.appendAll([...records, place]).catch((error: unknown) => {
          throw new ReplayNotSavedError('it cannot be said whether it was written', { cause: error });
        });
        progress = next;
        options.saved(next);
      });
    /** Changes it without writing it down, in turn with what is written. */
    const note = (change: (now: ReplayProgress) => ReplayProgress) =>
      mutex.run(async () => {
        progress = change(progress);
      });
    const goTo = (phase: ReplayProgress['phase'], detail = '') => save((now) => inPhase(now, phase, detail, nowMs()));

    const source = await openSource(context.registry, replay);
    if (progress.phase === 'waiting') {
      const range = await planRange(context, replay, source, { stopped, waitsFor: (what) => goTo('waiting', what) });
      if (range === null) return;
      await save((now) => ({
        ...beginReading(now, 'counting', range.partitions, nowMs()),
        not_reached: range.notReached,
      }));
    }
    if (progress.phase === 'counting' && !(await count())) return;
    if (progress.phase === 'sending' && !(await send())) return;
    if (progress.phase === 'draining') await drain();

    async function count(): Promise<boolean> {
      progress = beginReading(progress, 'counting', progress.partitions, nowMs());
      let savedMs = 0;
      const judge = createJudge(context, replay, source);
      const take = async (slice: Slice): Promise<null> => {
        const { counts, next } = await judge(slice, nextOf(progress, slice.partition));
        const counted = (now: ReplayProgress) => addCounts(now, slice.partition, next, counts, nowMs());
        const isDue = nowMs() - savedMs >= SAVE_MS;
        if (isDue) savedMs = nowMs();
        await (isDue ? save(counted) : note(counted));
        return null;
      };
      if (!(await read(RECORDS_MAX, take))) return false;
      const counted = (now: ReplayProgress): ReplayProgress => ({ ...atEnd(now), to_send: now.chosen });
      if (replay.dry_run) await save((now) => inPhase(counted(now), 'done', '', nowMs()));
      else await save((now) => beginReading(counted(now), 'sending', now.partitions, nowMs()));
      return true;
    }

    async function send(): Promise<boolean> {
      const rateLimit = createRateLimit(replay.rate);
      const judge = createJudge(context, replay, source);
      const blockedUntilMs = createBackpressure(context, replay.destination);
      const step = createMutex();
      /** One slice of all partitions after the other, so that none exceeds the rate. */
      const take = async (slice: Slice): Promise<number | null> => {
        const notBeforeMs = Math.max(rateLimit.readyMs(), await blockedUntilMs());
        if (notBeforeMs > nowMs()) return notBeforeMs;
        const { chosen, counts, next } = await judge(slice, nextOf(progress, slice.partition));
        const records = jobRecords(replay.destination, chosen, jobs, context.eventSchemaId);
        await save((now) => addCounts(now, slice.partition, next, counts, nowMs()), records);
        rateLimit.spent(chosen.length, nowMs());
        return null;
      };
      const recordsMax = Math.min(RECORDS_MAX, Math.ceil(replay.rate / STEPS_PER_S));
      if (!(await read(recordsMax, (slice) => step.run(() => take(slice))))) return false;
      await save((now) => inPhase(atEnd(now), 'draining', '', nowMs()));
      return true;
    }

    async function drain(): Promise<void> {
      const group = session.groupOf(`delivery.${replay.destination}`);
      while (!(await isCaughtUp(session, group, replayTopic(replay.destination)))) {
        if (stopped()) return;
        await sleep(POLL_MS);
      }
      await goTo('done');
    }

    function read(recordsMax: number, take: (slice: Slice) => Promise<number | null>): Promise<boolean> {
      return readRange(context, {
        replayId: replay.replay_id,
        topic: source.topic,
        partitions: () => progress.partitions,
        fromFirst: source.repeats,
        recordsMax,
        take,
        stopped,
      });
    }
  } finally {
    await producer.close();
  }
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

/** The next offset of a partition that is not done. */
function nextOf({ partitions }: ReplayProgress, partition: number): number {
  return partitions.find((one) => one.partition === partition)?.next ?? 0;
}

/** All partitions read to their ends. */
function atEnd(progress: ReplayProgress): ReplayProgress {
  return { ...progress, partitions: progress.partitions.map((one) => ({ ...one, next: one.end })) };
}
