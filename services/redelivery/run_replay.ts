// A replay from plan to end: its phases, its rate, its saved progress, and which events it sends.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Warehouse } from '#infra/clickhouse/client.ts';
import { type LedgerPosition, type LedgerRow, queryLedger } from '#infra/clickhouse/delivery_ledger.ts';
import { createMutex } from '#infra/concurrency/gates.ts';
import { monotonicMs, wallMsOf } from '#infra/concurrency/time_limits.ts';
import { type FencedProducer, openFencedProducer, type PartitionRecords } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { isCaughtUp, jobRecords, remainingOffsets } from '#infra/redelivery/replay_topics.ts';
import type { Codec } from '#infra/registry/codec.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { replayTopic } from '#pipelines/delivery/retry_topics.ts';
import { addCounts, beginReading, counted, inPhase, isOver, type ReadCounts } from '#pipelines/redelivery/replay.ts';
import { choose, isMeant, type Known, placeOf } from '#pipelines/redelivery/resend.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { DeliveryJobRecord, ReplayPhase, ReplayProgress } from '#schemas/records.ts';
import type { Replay } from '#schemas/setting.ts';
import { indexTraces, readTraceHeaders } from '#schemas/trace_context.ts';
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
/** Records that are judged at once where nothing is sent: what of them ClickHouse cannot be asked for is asked for again as a whole. */
const COUNTED_MAX = 500;
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
  const judge = createSelector(run.context, run.replay, run.source);
  const take = async (slice: Slice): Promise<null> => {
    await log.saveOrNote(added(slice, await judge(slice, nextOf(log.now(), slice.partition)), nowMs));
    return null;
  };
  if (!(await read(run, COUNTED_MAX, take))) return false;
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
  const judge = createSelector(context, replay, run.source);
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
    recordsMax,
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

/** A replay cannot be finished, whoever tries; it ends as failed. */
class ReplayFailedError extends Error {
  readonly code = 'too_many_letters';
}

interface EventSelection {
  chosen: EncodedEvent[];
  counts: ReadCounts;
  /** Behind the slice. */
  next: number;
}

/** Events of dead letters that one reading tells apart, at about 100 bytes each. */
const PLACES_MAX = 500_000;

/**
 * Judges slices of one reading: which events are to be sent. Records before `done` were judged earlier; where the source
 * repeats events, their places are remembered, so that none is sent twice.
 */
function createSelector(
  context: ReplayContext,
  replay: Replay,
  source: Source,
): (slice: Slice, done: number) => Promise<EventSelection> {
  const places = new Set<string>();
  // One of the id that was made since is not the one that was meant.
  const hasDestination = (siteId: string): boolean => {
    const found = context.table.destination(siteId, replay.destination);
    return found?.enabled === true && (found.created_at ?? 0) <= replay.created_at;
  };

  function remember(views: readonly EncodedEvent[]): void {
    if (!source.repeats) return;
    for (const view of views) {
      const place = placeOf(view);
      if (place !== null) places.add(place);
    }
    if (places.size > PLACES_MAX) throw new ReplayFailedError(`more than ${PLACES_MAX} events in the range`);
  }

  return async ({ records }, done) => {
    const { past = [], fresh = [] } = Object.groupBy(records, ({ offset }) => (offset < done ? 'past' : 'fresh'));
    remember((await readViews(context, source, past)).views);
    const { views, unreadable, diedAtMs } = await readViews(context, source, fresh);
    const meant = firstOfEach(
      views.filter((view) => isMeant(replay, view, hasDestination)),
      places,
    );
    const known = replay.force
      ? new Map<string, Known>()
      : await knownOf(context.warehouse, replay.destination, meant, diedAtMs);
    const { chosen, counts } = choose(meant, replay.force, known);
    remember(views);
    const next = Math.max(done, (records.at(-1)?.offset ?? -1) + 1);
    return { chosen, next, counts: { ...counts, unreadable } };
  };
}

async function readViews(
  { suppressed }: Pick<ReplayContext, 'suppressed'>,
  source: Source,
  records: Slice['records'],
): Promise<{ views: EncodedEvent[]; unreadable: number; diedAtMs: Map<string, number> }> {
  const read = await Promise.all(records.map((record) => source.read(record)));
  const views = read.flatMap((one) => suppressed.kept(one.views, (view) => view));
  const diedAtMs = new Map<string, number>();
  for (const { views: dead, diedAtMs: atMs } of read) {
    for (const place of atMs === undefined ? [] : dead.map(placeOf)) {
      if (place !== null) diedAtMs.set(place, Math.max(atMs ?? 0, diedAtMs.get(place) ?? 0));
    }
  }
  return { views, unreadable: read.filter(({ unreadable }) => unreadable).length, diedAtMs };
}

/** The first of each event, where it did not come before. */
function firstOfEach(views: readonly EncodedEvent[], before: ReadonlySet<string>): EncodedEvent[] {
  const seen = new Set<string>();
  return views.filter((view) => {
    const place = placeOf(view);
    if (place === null) return true;
    const isNew = !before.has(place) && !seen.has(place);
    seen.add(place);
    return isNew;
  });
}

/** Places asked for at once: this bounds the question, the answer and the memory for both. */
const PLACES_PER_QUERY = 2_000;

/** Outcomes after which an event waits on a retry topic. */
const PENDING: ReadonlySet<string> = new Set(['diverted', 'paused']);

/** @param diedAtMs When its dead letter was written: what has no outcome of its own waits nowhere since. */
function knownBy({ delivered, latest, latestAtMs }: LedgerRow, diedAtMs = Number.NEGATIVE_INFINITY): Known {
  if (delivered) return 'delivered';
  if (PENDING.has(latest)) return latestAtMs > diedAtMs ? 'pending' : 'open';
  return latest === 'skipped' ? 'skipped' : 'open';
}

/**
 * What the outcomes say of events at a destination, by their places.
 *
 * @param diedAtMs When dead letters of some were written, by their places.
 * @throws WarehouseError
 */
export async function knownOf(
  warehouse: Warehouse,
  destination: string,
  views: readonly EncodedEvent[],
  diedAtMs: ReadonlyMap<string, number> = new Map(),
): Promise<Map<string, Known>> {
  const known = new Map<string, Known>();
  for (let at = 0; at < views.length; at += PLACES_PER_QUERY) {
    const some = views.slice(at, at + PLACES_PER_QUERY);
    const rows = await queryLedger(warehouse, {
      destination,
      siteIds: [...new Set(some.map(({ siteId }) => siteId))],
      sinceMs: Math.min(...some.map(({ receivedAtMs }) => receivedAtMs)),
      places: some.flatMap(({ coordinate }): LedgerPosition[] => (coordinate === null ? [] : [coordinate])),
    });
    for (const row of rows) {
      const place = `${row.partition}/${row.offset}/${row.index}`;
      known.set(place, knownBy(row, diedAtMs.get(place)));
    }
  }
  return known;
}
