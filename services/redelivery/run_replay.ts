// A replay from plan to end: its phases, its rate and its saved progress.

import { setTimeout as sleep } from 'node:timers/promises';
import { createMutex } from '#infra/concurrency/gates.ts';
import { monotonicMs, wallMsOf } from '#infra/concurrency/time_limits.ts';
import { type FencedProducer, openFencedProducer, type PartitionRecords } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { isCaughtUp, jobRecords, remainingOffsets } from '#infra/redelivery/replay_topics.ts';
import type { Codec } from '#infra/registry/codec.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { replayTopic } from '#pipelines/delivery/retry_topics.ts';
import { addCounts, beginReading, counted, inPhase, isOver } from '#pipelines/redelivery/replay.ts';
import type { DeliveryJobRecord, ReplayPhase, ReplayProgress } from '#schemas/records.ts';
import type { Replay } from '#schemas/setting.ts';
import { indexTraces, readTraceHeaders } from '#schemas/trace_context.ts';
import { createEventSelector, type EventSelection } from './event_selector.ts';
import { openSource, planRange, type ReplayContext, readRange, type Slice, type Source } from './replay_source.ts';

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
export function runReplay(options: RunOptions): Promise<void> {
  return fenced(options, async (log) => {
    const { context, replay, stopped } = options;
    const jobs = await context.jobsOf(kindOfDestination(replay.destination));
    const run: ReplayRun = { context, replay, source: await openSource(context.registry, replay), jobs, log, stopped };
    const isIn = (phase: ReplayPhase): boolean => log.now().phase === phase;
    if (isIn('waiting') && !(await plan(run))) return;
    if (isIn('counting') && !(await count(run))) return;
    if (isIn('sending') && !(await send(run))) return;
    if (isIn('draining')) await drain(run);
  });
}

/** Writes that a replay has ended, and why. */
export function endReplay(options: RunOptions, phase: 'cancelled' | 'failed', detail: string): Promise<void> {
  return fenced(options, async (log) => {
    if (isOver(log.now().phase)) return options.saved(log.now());
    await log.save((now) => inPhase(now, phase, detail, options.context.nowMs()));
  });
}

/** Works behind a fence, which ends whoever else writes for destinations of its kind. */
async function fenced(
  { context, replay, readProgress, saved }: RunOptions,
  work: (log: ProgressLog) => Promise<void>,
): Promise<void> {
  const { session } = context;
  const producer = await openFencedProducer(
    session.kafka,
    session.groupOf(`replay.${kindOfDestination(replay.destination)}`),
  );
  try {
    await work(createProgressLog(producer, context.progress, await readProgress(), saved));
  } finally {
    await producer.close();
  }
}

const POLL_MS = 500;
/** How often what is read is written down where nothing of it is sent; what is sent is written down with each job. */
const SAVE_MS = 1_000;
/** Records of events, or letters, of which one transaction sends something. */
const RECORDS_MAX = 50;
/** Records for which ClickHouse is asked at once; where it does not answer it is asked for all of them again. */
const JUDGED_MAX = 500;
/** Steps in which a second's worth of events is sent, where each record holds one. */
const STEPS_PER_S = 10;

interface ReplayRun {
  context: ReplayContext;
  replay: Replay;
  source: Source;
  jobs: Codec<DeliveryJobRecord>;
  log: ProgressLog;
  /** Whether it is to stop where it is. */
  stopped(): boolean;
}

/** Decides what is read. False: it was stopped before. */
async function plan({ context, replay, source, log, stopped }: ReplayRun): Promise<boolean> {
  const { nowMs } = context;
  const waitsFor = (what: string): Promise<void> => log.save((now) => inPhase(now, 'waiting', what, nowMs()));
  const range = await planRange(context, replay, source, stopped, waitsFor);
  if (range === null) return false;
  await log.save((now) => ({
    ...beginReading(now, 'counting', range.partitions, nowMs()),
    not_reached: range.notReached,
  }));
  return true;
}

/** Reads the range and counts what would be sent, which is all of a dry run. False: it was stopped before. */
async function count(run: ReplayRun): Promise<boolean> {
  const { log } = run;
  const { nowMs } = run.context;
  await log.note((now) => beginReading(now, 'counting', now.partitions, nowMs()));
  const judge = createEventSelector(run.context, run.replay, run.source);
  const take = async (slice: Slice): Promise<null> => {
    await log.saveOrNote(added(slice, await judge(slice, nextOf(log.now(), slice.partition)), nowMs));
    return null;
  };
  if (!(await read(run, JUDGED_MAX, take))) return false;
  if (run.replay.dry_run) await log.save((now) => inPhase(counted(atEnd(now)), 'done', '', nowMs()));
  else await log.save((now) => beginReading(counted(atEnd(now)), 'sending', now.partitions, nowMs()));
  return true;
}

/** Reads the range again and writes what was chosen for delivery, no faster than the rate. False: it was stopped before. */
async function send(run: ReplayRun): Promise<boolean> {
  const { context, replay, log } = run;
  const { nowMs } = context;
  /** When the rate lets the next step through; monotonic milliseconds. */
  let readyMs = 0;
  const judge = createEventSelector(context, replay, run.source);
  const blockedUntilMs = createBackpressure(context, kindOfDestination(replay.destination));
  const step = createMutex();
  /** One slice of all partitions after the other, so that none exceeds the rate. */
  const take = async (slice: Slice): Promise<number | null> => {
    const notBeforeMs = Math.max(readyMs, await blockedUntilMs());
    if (notBeforeMs > monotonicMs()) return wallMsOf(notBeforeMs);
    const judgement = await judge(slice, nextOf(log.now(), slice.partition));
    const { eventSchemaId, session } = context;
    const { smallPartitions } = session.config;
    const traces = indexTraces(
      slice.records.flatMap((record) => readTraceHeaders(record.headers, { ...slice, ...record })),
    );
    const to = { destination: replay.destination, askedAtMs: replay.created_at };
    const records = jobRecords(to, judgement.chosen, run.jobs, eventSchemaId, smallPartitions, traces);
    const add = added(slice, judgement, nowMs);
    await (records.length > 0 ? log.save(add, records) : log.saveOrNote(add));
    readyMs = Math.max(readyMs, monotonicMs()) + (judgement.chosen.length / replay.rate) * 1000;
    return null;
  };
  const recordsMax = Math.min(RECORDS_MAX, Math.ceil(replay.rate / STEPS_PER_S));
  if (!(await read(run, recordsMax, (slice) => step.run(() => take(slice))))) return false;
  await log.save((now) => inPhase(atEnd(now), 'draining', '', nowMs()));
  return true;
}

/** Waits until delivery has taken what was written. */
async function drain({ context, replay, log, stopped }: ReplayRun): Promise<void> {
  const { session, nowMs } = context;
  const kind = kindOfDestination(replay.destination);
  const group = session.groupOf(`delivery.${kind}`);
  while (!(await isCaughtUp(session, group, replayTopic(kind)))) {
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
    ...{ recordsMax, aheadMax: JUDGED_MAX },
    take,
    stopped,
  });
}

function added({ partition }: Slice, { next, counts }: EventSelection, nowMs: () => number) {
  return (now: ReplayProgress): ReplayProgress => addCounts(now, partition, next, counts, nowMs());
}

function nextOf({ partitions }: ReplayProgress, partition: number): number {
  return partitions.find((one) => one.partition === partition)?.next ?? 0;
}

function atEnd(progress: ReplayProgress): ReplayProgress {
  return { ...progress, partitions: progress.partitions.map((one) => ({ ...one, next: one.end })) };
}

/** Offsets on the replay topic that delivery has yet to take, before no more are written. */
const WAITING_MAX = 200;
const ASK_MS = 500;

/**
 * Asks now and then how much delivery has yet to take; answers until when to wait, in monotonic milliseconds, where that is
 * too much.
 */
function createBackpressure({ session }: ReplayContext, kind: string): () => Promise<number> {
  const group = session.groupOf(`delivery.${kind}`);
  let askedMs = Number.NEGATIVE_INFINITY;
  let untilMs = 0;
  return async () => {
    if (monotonicMs() - askedMs < ASK_MS) return untilMs;
    askedMs = monotonicMs();
    const waiting = await remainingOffsets(session, group, replayTopic(kind));
    untilMs = waiting > WAITING_MAX ? monotonicMs() + ASK_MS : 0;
    return untilMs;
  };
}

/** What was written cannot be known here: the process ends, and the next one reads it behind a fence. */
class ReplayNotSavedError extends Error {
  readonly code = 'replay_not_saved';
}

type Change = (now: ReplayProgress) => ReplayProgress;

/** How far a replay is, in memory and on its topic. Changes are made one after the other. */
interface ProgressLog {
  now(): ReplayProgress;
  /** Changes it and writes it down, in one transaction with these records. */
  save(change: Change, records?: readonly PartitionRecords[]): Promise<void>;
  /** Changes it in memory only: the next `save` writes it down too. */
  note(change: Change): Promise<void>;
  /** Saves it where that was last done a second ago, else notes it. */
  saveOrNote(change: Change): Promise<void>;
}

function createProgressLog(
  producer: FencedProducer,
  codec: Codec<ReplayProgress>,
  progress: ReplayProgress,
  saved: (progress: ReplayProgress) => void,
): ProgressLog {
  const mutex = createMutex();
  let current = progress;
  let savedMs = Number.NEGATIVE_INFINITY;
  const save: ProgressLog['save'] = (change, records = []) => {
    savedMs = monotonicMs();
    return mutex.run(async () => {
      const next = change(current);
      const place: PartitionRecords = [TOPICS.replays, 0, [{ key: next.replay_id, value: codec.encode(next) }]];
      await producer.appendAll([...records, place]).catch((error: unknown) => {
        throw new ReplayNotSavedError('it cannot be said whether it was written', { cause: error });
      });
      current = next;
      saved(next);
    });
  };
  const note: ProgressLog['note'] = (change) =>
    mutex.run(async () => {
      current = change(current);
    });
  return {
    now: () => current,
    save,
    note,
    saveOrNote: (change) => (monotonicMs() - savedMs >= SAVE_MS ? save(change) : note(change)),
  };
}
