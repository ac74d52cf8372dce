import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs, wallMsOf } from '#infra/concurrency/monotonic_clock.ts';
import { createMutex } from '#infra/concurrency/mutex.ts';
import type { Codec } from '#infra/registry/codec.ts';
import { jobRecords } from '#infra/replay/job_records.ts';
import { isCaughtUp } from '#infra/replay/offsets.ts';
import { replayTopic } from '#pipelines/delivery/lanes.ts';
import { addCounts, beginReading, counted, inPhase } from '#pipelines/replay/progress.ts';
import type { DeliveryJobRecord } from '#schemas/records.ts';
import type { ReplayProgress } from '#schemas/replay_progress.ts';
import type { Replay } from '#schemas/setting.ts';
import { createBackpressure, createRateLimit } from './backpressure.ts';
import { createJudge, type Judgement } from './judge.ts';
import type { ProgressLog } from './progress_log.ts';
import { planRange } from './range_plan.ts';
import { readRange, type Slice } from './reading.ts';
import type { ReplayContext } from './run_context.ts';
import type { Source } from './source.ts';

const POLL_MS = 500;
/** How often what was counted is written down; what is sent is written down with each job. */
const SAVE_MS = 1_000;
/** Records of events, or letters, taken at once. */
const RECORDS_MAX = 50;
/** Steps in which a second's worth of events is sent, where each record holds one. */
const STEPS_PER_S = 10;

/** A replay that is being carried on. */
export interface ReplayRun {
  context: ReplayContext;
  replay: Replay;
  source: Source;
  jobs: Codec<DeliveryJobRecord>;
  log: ProgressLog;
  /** Whether it is to stop where it is. */
  stopped(): boolean;
}

/** Decides what is read. False: it was stopped before. */
export async function plan({ context, replay, source, log, stopped }: ReplayRun): Promise<boolean> {
  const { nowMs } = context;
  const waitsFor = (what: string): Promise<void> => log.save((now) => inPhase(now, 'waiting', what, nowMs()));
  const range = await planRange(context, replay, source, { stopped, waitsFor });
  if (range === null) return false;
  await log.save((now) => ({
    ...beginReading(now, 'counting', range.partitions, nowMs()),
    not_reached: range.notReached,
  }));
  return true;
}

/** Reads the range and counts what would be sent, which is all of a dry run. False: it was stopped before. */
export async function count(run: ReplayRun): Promise<boolean> {
  const { log } = run;
  const { nowMs } = run.context;
  await log.note((now) => beginReading(now, 'counting', now.partitions, nowMs()));
  let savedMs = Number.NEGATIVE_INFINITY;
  const judge = createJudge(run.context, run.replay, run.source);
  const take = async (slice: Slice): Promise<null> => {
    const add = added(slice, await judge(slice, nextOf(log.now(), slice.partition)), nowMs);
    const isDue = monotonicMs() - savedMs >= SAVE_MS;
    if (isDue) savedMs = monotonicMs();
    await (isDue ? log.save(add) : log.note(add));
    return null;
  };
  if (!(await read(run, RECORDS_MAX, take))) return false;
  if (run.replay.dry_run) await log.save((now) => inPhase(counted(atEnd(now)), 'done', '', nowMs()));
  else await log.save((now) => beginReading(counted(atEnd(now)), 'sending', now.partitions, nowMs()));
  return true;
}

/** Reads the range again and writes what was chosen for delivery, no faster than the rate. False: it was stopped before. */
export async function send(run: ReplayRun): Promise<boolean> {
  const { context, replay, log } = run;
  const { nowMs } = context;
  const rateLimit = createRateLimit(replay.rate);
  const judge = createJudge(context, replay, run.source);
  const blockedUntilMs = createBackpressure(context, replay.destination);
  const step = createMutex();
  /** One slice of all partitions after the other, so that none exceeds the rate. */
  const take = async (slice: Slice): Promise<number | null> => {
    const notBeforeMs = Math.max(rateLimit.readyMs(), await blockedUntilMs());
    if (notBeforeMs > monotonicMs()) return wallMsOf(notBeforeMs);
    const judgement = await judge(slice, nextOf(log.now(), slice.partition));
    const records = jobRecords(replay.destination, judgement.chosen, run.jobs, context.eventSchemaId);
    await log.save(added(slice, judgement, nowMs), records);
    rateLimit.spent(judgement.chosen.length, monotonicMs());
    return null;
  };
  const recordsMax = Math.min(RECORDS_MAX, Math.ceil(replay.rate / STEPS_PER_S));
  if (!(await read(run, recordsMax, (slice) => step.run(() => take(slice))))) return false;
  await log.save((now) => inPhase(atEnd(now), 'draining', '', nowMs()));
  return true;
}

/** Waits until delivery has taken what was written. */
export async function drain({ context, replay, log, stopped }: ReplayRun): Promise<void> {
  const { session, nowMs } = context;
  const group = session.groupOf(`delivery.${replay.destination}`);
  while (!(await isCaughtUp(session, group, replayTopic(replay.destination)))) {
    if (stopped()) return;
    await sleep(POLL_MS);
  }
  await log.save((now) => inPhase(now, 'done', '', nowMs()));
}

function read(
  { context, replay, source, log, stopped }: ReplayRun,
  recordsMax: number,
  take: (slice: Slice) => Promise<number | null>,
): Promise<boolean> {
  return readRange(context, {
    replayId: replay.replay_id,
    topic: source.topic,
    partitions: () => log.now().partitions,
    fromFirst: source.repeats,
    recordsMax,
    take,
    stopped,
  });
}

function added({ partition }: Slice, { next, counts }: Judgement, nowMs: () => number) {
  return (now: ReplayProgress): ReplayProgress => addCounts(now, partition, next, counts, nowMs());
}

/** The next offset of a partition that is not done. */
function nextOf({ partitions }: ReplayProgress, partition: number): number {
  return partitions.find((one) => one.partition === partition)?.next ?? 0;
}

/** All partitions read to their ends. */
function atEnd(progress: ReplayProgress): ReplayProgress {
  return { ...progress, partitions: progress.partitions.map((one) => ({ ...one, next: one.end })) };
}
