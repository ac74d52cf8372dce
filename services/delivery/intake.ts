import type { InBatch, Leave } from '#infra/kafka/consume.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { type BatchReader, type Codec, createBatchReader, createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/registry.ts';
import { deadLetter } from '#pipelines/dead_letter.ts';
import { replayTopic } from '#pipelines/delivery/lanes.ts';
import type { EntryView } from '#schemas/event_batch.ts';
import type { DeadLetter, DeliveryJobRecord } from '#schemas/records.ts';
import { readRecords } from '#services/batches.ts';

/** Events of one site that are to be attempted together. */
export interface SiteJob {
  siteId: string;
  views: EntryView[];
  /** The attempt to be made, from 1. */
  attempt: number;
  /** When the first attempt was made; null where this is it. */
  firstAttemptedAtMs: number | null;
  /** Whether they come from the main topic, rather than from a lane or a replay. */
  isMain: boolean;
}

export interface TakenJobs {
  jobs: SiteJob[];
  dead: DeadLetter[];
  /** Set where records of a lane are not due yet. */
  leave?: Leave;
}

export interface DeliveryIntake {
  take(batch: InBatch, nowMs: number): Promise<TakenJobs>;
}

/** Reads the main topic and the lanes of one destination into jobs. */
export async function createDeliveryIntake(registry: Registry, destination: string): Promise<DeliveryIntake> {
  const reader = await createBatchReader(registry, TOPICS.identified);
  const jobs = await createCodec<DeliveryJobRecord>(registry, replayTopic(destination), 'delivery_job');
  return {
    async take(batch, nowMs) {
      if (batch.topic === TOPICS.identified) return fromEvents(batch, reader, nowMs);
      return fromLane(batch, jobs, reader, nowMs);
    },
  };
}

async function fromEvents(batch: InBatch, reader: BatchReader, nowMs: number): Promise<TakenJobs> {
  const read = await readRecords('delivery', batch, batch.records, reader, nowMs);
  const sites = new Map<string, SiteJob>();
  for (const view of read.records.flatMap(({ views }) => views)) {
    const job = sites.get(view.siteId) ?? newJob(view.siteId);
    sites.set(view.siteId, job);
    job.views.push(view);
  }
  return { jobs: [...sites.values()], dead: read.dead };
}

function newJob(siteId: string): SiteJob {
  return { siteId, views: [], attempt: 1, firstAttemptedAtMs: null, isMain: true };
}

async function fromLane(
  batch: InBatch,
  codec: Codec<DeliveryJobRecord>,
  reader: BatchReader,
  nowMs: number,
): Promise<TakenJobs> {
  const taken: TakenJobs = { jobs: [], dead: [] };
  for (const record of batch.records) {
    const read = await readJob(batch, record, codec, reader, nowMs);
    if (read.kind === 'dead') taken.dead.push(read.letter);
    else if (read.dueAtMs <= nowMs) taken.jobs.push(read.job);
    else return { ...taken, leave: { offset: record.offset, notBeforeMs: read.dueAtMs } };
  }
  return taken;
}

type ReadJob = { kind: 'job'; job: SiteJob; dueAtMs: number } | { kind: 'dead'; letter: DeadLetter };

async function readJob(
  batch: InBatch,
  record: InRecord,
  codec: Codec<DeliveryJobRecord>,
  reader: BatchReader,
  nowMs: number,
): Promise<ReadJob> {
  const place = { stage: 'delivery', topic: batch.topic, partition: batch.partition, offset: record.offset, index: -1 };
  const decoded = await codec.decode(record.value);
  if (!decoded.ok) return { kind: 'dead', letter: deadLetter(place, decoded.reason, '', record.value, nowMs) };
  const { site_id, attempt, due_at, first_attempted_at, batch: bytes } = decoded.value;
  const events = await reader.read(bytes);
  if (!events.ok) return { kind: 'dead', letter: deadLetter(place, events.reason, '', record.value, nowMs) };
  const firstAttemptedAtMs = attempt > 1 || first_attempted_at > 0 ? first_attempted_at : null;
  return {
    kind: 'job',
    dueAtMs: due_at,
    job: { siteId: site_id, views: events.value, attempt, firstAttemptedAtMs, isMain: false },
  };
}
