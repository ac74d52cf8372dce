import type { Deferral, InBatch } from '#infra/kafka/consumer/consumption.ts';
import type { InRecord, OutRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { type Codec, createCodec, createEventBatchReader, type EventBatchReader } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { Place, Source } from '#pipelines/delivery/delivery_run.ts';
import { targetKey } from '#pipelines/delivery/destination_id.ts';
import { aimOf, delayOfTopic, pollRetryTopic, replayTopic } from '#pipelines/delivery/retry_topics.ts';
import type { SuppressionList } from '#pipelines/erasure/suppression.ts';
import { createDeadLetter } from '#pipelines/redelivery/dead_letter.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { DeadLetter, DeliveryJobRecord } from '#schemas/records.ts';
import { movedTraceHeaders } from '#schemas/trace_context.ts';
import type { BatchSpans } from '#services/stage/batch_spans.ts';
import { readRecords, viewsIn } from '#services/stage/batches.ts';
import type { Releases, RetryPolls } from './retry_topics.ts';

/** An event to be attempted, with its place in the partition it was read from. */
export interface JobEvent extends Place {
  view: EncodedEvent;
}

/** Events of one site that are to be attempted together at one destination. */
export interface SiteJob {
  siteId: string;
  /** Its id. */
  destination: string;
  source: Source;
  events: JobEvent[];
  /** The attempt to be made, from 1. */
  attempt: number;
  /** When the first attempt was made; null where this is it. */
  firstAttemptedAtMs: number | null;
  /** When somebody asked for them to be sent; null where they come by themselves, or a former version wrote them. */
  askedAtMs: number | null;
  /** Whether they come from the main topic, rather than from a retry topic or a replay. */
  isMain: boolean;
  /** Why nothing was asked the last time; '' where something was, or it is the first. */
  pausedFor: string;
  /** Of its batch; null where nothing of that is traced. */
  spans: BatchSpans | null;
}

/** By which what is known of the job's destination is kept. */
export const targetOf = ({ siteId, destination }: Pick<SiteJob, 'siteId' | 'destination'>): string =>
  targetKey(siteId, destination);

export interface TakenJobs {
  jobs: SiteJob[];
  dead: DeadLetter[];
  /** How many events were left out as their persons were erased. */
  erased: number;
  /** Records of a retry topic that make way for those behind them, with the offsets they had. */
  moved: { offset: number; record: OutRecord }[];
  /** Set where records of a retry topic are not due yet. */
  leave?: Deferral;
}

export type JobReader = Awaited<ReturnType<typeof createJobReader>>;

/** What makes records of retry topics due before their time, or make way. */
interface RetryTopicWatch {
  releases: Pick<Releases, 'isReleased'>;
  scans: Pick<RetryPolls, 'skipCount' | 'recordParked'>;
}

/**
 * Reads the main topic and the retry topics of one kind of destination into jobs.
 *
 * @param idsOf ids of the destinations of that kind that a site has.
 */
export async function createJobReader(
  registry: Registry,
  kind: string,
  idsOf: (siteId: string) => readonly string[],
  retryTopics: RetryTopicWatch,
  suppressed: Pick<SuppressionList, 'kept'>,
) {
  const reader = await createEventBatchReader(registry, TOPICS.identified);
  const jobs = await createCodec<DeliveryJobRecord>(registry, replayTopic(kind), 'delivery_job');
  /** What has no destination of the kind is attempted all the same: that it has none may be told of. */
  const targetsOf = (siteId: string): readonly string[] => {
    const ids = idsOf(siteId);
    return ids.length === 0 ? [kind] : ids;
  };
  return {
    /** The events of a record, whichever topic it is of; null where they cannot be read. */
    async viewsOf(topic: string, value: Buffer | null): Promise<EncodedEvent[] | null> {
      if (topic === TOPICS.identified) return viewsIn(await reader.read(value));
      const job = await jobs.decode(value);
      return job.ok ? viewsIn(await reader.read(job.value.batch)) : null;
    },
    /** The destinations that an event of a record was to go to; the kind's first for what cannot be read. */
    async destinationsOf(topic: string, value: Buffer | null): Promise<(siteId: string | null) => readonly string[]> {
      if (topic === TOPICS.identified) return (siteId) => (siteId === null ? [kind] : targetsOf(siteId));
      const job = await jobs.decode(value);
      const destinations = [job.ok ? aimOf(job.value, kind).destination : kind];
      return () => destinations;
    },
    async take(batch: InBatch, nowMs: number): Promise<TakenJobs> {
      if (batch.topic === TOPICS.identified) {
        return withoutErased(await fromEvents(batch, reader, targetsOf, nowMs), suppressed);
      }
      const read = await Promise.all(
        batch.records.map((record) => readJob(batch, record, { jobs, reader, kind }, nowMs)),
      );
      const taken = fromRetryTopic(batch, read, delayOfTopic(kind, batch.topic), retryTopics, nowMs);
      return withoutErased(taken, suppressed);
    },
  };
}

type ReadJobs = Omit<TakenJobs, 'erased'>;

function withoutErased(read: ReadJobs, suppressed: Pick<SuppressionList, 'kept'>): TakenJobs {
  let erased = 0;
  const jobs = read.jobs.flatMap((job) => {
    const events = suppressed.kept(job.events, ({ view }) => view);
    erased += job.events.length - events.length;
    return events.length === 0 ? [] : [{ ...job, events: [...events] }];
  });
  return { ...read, jobs, erased };
}

async function fromEvents(
  batch: InBatch,
  reader: EventBatchReader,
  targetsOf: (siteId: string) => readonly string[],
  nowMs: number,
): Promise<ReadJobs> {
  const read = await readRecords('delivery', batch, batch.records, reader, nowMs);
  const sites = new Map<string, SiteJob[]>();
  for (const { offset, views } of read.records) {
    for (const [index, view] of views.entries()) {
      const { siteId } = view;
      const jobs = sites.get(siteId) ?? targetsOf(siteId).map((destination) => newJob(siteId, destination, batch));
      sites.set(siteId, jobs);
      for (const { destination, events } of jobs) events.push({ view, offset, index, destination });
    }
  }
  return { jobs: [...sites.values()].flat(), dead: read.dead, moved: [] };
}

function newJob(siteId: string, destination: string, { topic, partition }: Source): SiteJob {
  const source = { topic, partition };
  const start = { attempt: 1, firstAttemptedAtMs: null, askedAtMs: null, isMain: true, pausedFor: '', spans: null };
  return { siteId, destination, source, events: [], ...start };
}

/** What is due is taken; what is not either waits where it is or makes way for what lies behind it. */
function fromRetryTopic(
  batch: InBatch,
  read: readonly ReadJob[],
  delayMs: number,
  { releases, scans }: RetryTopicWatch,
  nowMs: number,
): ReadJobs {
  const duesMs = read.map((one) => dueMsOf(one, releases));
  const skipCount = scans.skipCount(batch, delayMs, nowMs);
  const look = pollRetryTopic({ duesMs, nowMs, delayMs, isMoreBehind: batch.lag > 0, skipCount });
  const taken = look.take.map((place) => read[place]);
  const isTaken = new Set(look.take);
  for (const [place, one] of read.entries()) {
    if (one.kind === 'dead' || isTaken.has(place)) continue;
    scans.recordParked(batch, targetOf(one.job), Math.max(nowMs, batch.records[place]?.timestampMs ?? 0), false);
  }
  const { topic, partition } = batch;
  const leaveRecord = look.leaveFrom === null ? undefined : batch.records[look.leaveFrom];
  const next = leaveRecord?.offset ?? (batch.records.at(-1)?.offset ?? -1) + 1;
  return {
    jobs: taken.flatMap((one) => (one?.kind === 'job' ? [one.job] : [])),
    dead: taken.flatMap((one) => (one?.kind === 'dead' ? [one.deadLetter] : [])),
    moved: look.move.map((place) => {
      const { offset = -1, value = null, headers: read = {} } = batch.records[place] ?? {};
      const headers = movedTraceHeaders(read);
      const record = { topic, partition, value: value ?? Buffer.alloc(0), ...(headers && { headers }) };
      return { offset, record };
    }),
    ...(look.leaveFrom === null ? {} : { leave: { offset: next, notBeforeMs: look.notBeforeMs } }),
  };
}

/** A record that cannot be read is dealt with at once, and one at once for whose site what it waits for is over. */
function dueMsOf(read: ReadJob, releases: Pick<Releases, 'isReleased'>): number {
  if (read.kind === 'dead') return 0;
  const { job, waitsSinceMs, dueAtMs } = read;
  return releases.isReleased(targetOf(job), waitsSinceMs, job.pausedFor !== '') ? 0 : dueAtMs;
}

type ReadJob =
  | { kind: 'job'; job: SiteJob; dueAtMs: number; waitsSinceMs: number }
  | { kind: 'dead'; deadLetter: DeadLetter };

async function readJob(
  batch: InBatch,
  record: InRecord,
  { jobs, reader, kind }: { jobs: Codec<DeliveryJobRecord>; reader: EventBatchReader; kind: string },
  nowMs: number,
): Promise<ReadJob> {
  const place = { stage: 'delivery', topic: batch.topic, partition: batch.partition, offset: record.offset, index: -1 };
  const decoded = await jobs.decode(record.value);
  if (!decoded.ok)
    return { kind: 'dead', deadLetter: createDeadLetter(place, decoded.reason, '', record.value, nowMs) };
  const { site_id, attempt, first_attempted_at, paused, reason, batch: bytes } = decoded.value;
  const events = await reader.read(bytes);
  if (!events.ok) return { kind: 'dead', deadLetter: createDeadLetter(place, events.reason, '', record.value, nowMs) };
  const { destination, dueAtMs, waitsSinceMs } = aimOf(decoded.value, kind);
  const firstAttemptedAtMs = attempt > 1 || first_attempted_at > 0 ? first_attempted_at : null;
  return {
    kind: 'job',
    dueAtMs,
    waitsSinceMs,
    job: {
      siteId: site_id,
      destination,
      source: { topic: batch.topic, partition: batch.partition },
      events: events.value.map((view, index) => ({ view, offset: record.offset, index, destination })),
      attempt,
      firstAttemptedAtMs,
      askedAtMs: firstAttemptedAtMs === null && waitsSinceMs > 0 ? waitsSinceMs : null,
      isMain: false,
      pausedFor: paused === true ? reason : '',
      spans: null,
    },
  };
}
