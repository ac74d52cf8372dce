// Batches of a stage: events read from records, poison pills isolated, dead letters, counts, and events packed again.
import { recoveryOf } from '#infra/errors.ts';
import type { InBatch } from '#infra/kafka/consumer/consumption.ts';
import type { InRecord, OutRecord } from '#infra/kafka/record.ts';
import { deadTopic, type Stage, TOPICS } from '#infra/kafka/topics.ts';
import type { TransformResult } from '#infra/kafka/transactional_stage.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { Codec, EventBatchReader } from '#infra/registry/codec.ts';
import { createDeadLetter, poisonPillDeadLetters } from '#pipelines/redelivery/dead_letter.ts';
import { isolate } from '#pipelines/stage.ts';
import type { SourcePosition } from '#schemas/event.ts';
import { createBatchWriter, type EncodedEvent } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { type CarriedTrace, traceHeaders } from '#schemas/trace_context.ts';
import type { BatchSpans } from './batch_spans.ts';

/** A record of event batches that could be read. */
export interface ReadRecord {
  offset: number;
  views: EncodedEvent[];
}

/**
 * The readable records of a batch, and dead letters for the others: each is read by itself, so that a poison record harms
 * none beside it.
 */
export async function readRecords(
  stage: Stage,
  batch: Pick<InBatch, 'topic' | 'partition'>,
  records: readonly InRecord[],
  reader: EventBatchReader,
  nowMs: number,
): Promise<{ records: ReadRecord[]; dead: DeadLetter[] }> {
  const read: { records: ReadRecord[]; dead: DeadLetter[] } = { records: [], dead: [] };
  for (const record of records) {
    const decoded = await reader.read(record.value);
    if (decoded.ok) read.records.push({ offset: record.offset, views: decoded.value });
    else {
      const place = { stage, topic: batch.topic, partition: batch.partition, offset: record.offset, index: -1 };
      read.dead.push(createDeadLetter(place, decoded.reason, '', record.value, nowMs));
    }
  }
  return read;
}

/** Dead letters as records of the stage's topic, counted. */
export function deadRecords(
  stage: Stage,
  dead: readonly DeadLetter[],
  codec: Codec<DeadLetter>,
  tally: BatchCounts,
  partitions: number,
): OutRecord[] {
  return dead.map((deadLetter) => {
    tally.in++;
    count(tally.dead, deadLetter.reason);
    return { topic: deadTopic(stage), partition: deadLetter.partition % partitions, value: codec.encode(deadLetter) };
  });
}

/** The events of a record that was read; null where it could not be. */
export function viewsIn(read: Awaited<ReturnType<EventBatchReader['read']>>): EncodedEvent[] | null {
  return read.ok ? read.value : null;
}

/** How a stage makes dead letters of records that kill the process. */
export interface PoisonPillWork {
  stage: Stage;
  codec: Codec<DeadLetter>;
  metrics: Metrics;
  /** Schema id under which an event's bytes are kept. */
  schemaId: number;
  viewsOf(record: InRecord): Promise<readonly EncodedEvent[] | null>;
  /** Of the topic of dead letters. */
  partitions: number;
  /** Of a delivery: the destinations that each event of a record, by its site, was to go to; null: the record as a whole. */
  destinationsOf?(record: InRecord): Promise<(siteId: string | null) => readonly string[]>;
}

/** The one record of a batch as dead letters, because it kills the process whenever it is taken. */
export async function deadLetterResult(
  { stage, codec, metrics, schemaId, viewsOf, partitions, destinationsOf }: PoisonPillWork,
  { topic, partition, records }: InBatch,
): Promise<TransformResult> {
  const nowMs = Date.now();
  const tally = emptyBatchCounts();
  const deadLetters: DeadLetter[] = [];
  for (const record of records) {
    const { offset, value } = record;
    const views = await viewsOf(record);
    const pill = { stage, topic, partition, offset, value, views, rawTopic: TOPICS.raw, schemaId };
    const destinations = await destinationsOf?.(record);
    for (const [at, deadLetter] of poisonPillDeadLetters(pill, nowMs).entries()) {
      if (destinations === undefined) deadLetters.push(deadLetter);
      else
        for (const destination of destinations(views?.[at]?.siteId ?? null))
          deadLetters.push({ ...deadLetter, destination });
    }
  }
  const outputs = deadRecords(stage, deadLetters, codec, tally, partitions);
  return { outputs, committed: () => publishBatchCounts(metrics, tally, nowMs, Date.now()) };
}

/** An event to be written on, with what the stage attaches and the partition it belongs to. */
interface OutEntry {
  partition: number;
  coordinate: SourcePosition;
  personBytes: Buffer;
  eventBytes: Buffer;
}

/** Bytes of one EventBatch record, well below what a broker takes. */
const RECORD_BYTES_MAX = 1024 * 1024;

/**
 * Packs entries into as few records as their partitions and the record size allow, keeping their order. The headers of a record
 * name the traces of its events.
 */
export function packBatches(
  topic: string,
  schemaId: number,
  entries: readonly OutEntry[],
  spans: BatchSpans | null,
): OutRecord[] {
  const writers = new Map<number, ReturnType<typeof createBatchWriter>>();
  const traces = new Map<number, Set<CarriedTrace>>();
  const outputs: OutRecord[] = [];
  function finish(partition: number, writer: ReturnType<typeof createBatchWriter>): void {
    const found = traces.get(partition);
    const headers = found && traceHeaders(found);
    traces.delete(partition);
    outputs.push({ topic, partition, value: writer.finish(), ...(headers && { headers }) });
  }

  for (const { partition, coordinate, personBytes, eventBytes } of entries) {
    let writer = writers.get(partition);
    if (writer !== undefined && writer.byteLength + eventBytes.length + personBytes.length > RECORD_BYTES_MAX) {
      finish(partition, writer);
      writer = undefined;
    }
    if (writer === undefined) {
      writer = createBatchWriter(schemaId);
      writers.set(partition, writer);
    }
    writer.add(coordinate, personBytes, eventBytes);
    const trace = spans?.of(coordinate);
    if (trace !== undefined) traces.set(partition, (traces.get(partition) ?? new Set()).add(trace));
  }
  for (const [partition, writer] of writers) finish(partition, writer);
  return outputs;
}

/** Where a stage works on events, and how it names those that it cannot work on. */
interface EventWork {
  stage: Stage;
  batch: Pick<InBatch, 'topic' | 'partition'>;
  /** Schema id under which an event's bytes are kept. */
  schemaId: number;
  nowMs: number;
}

/**
 * Does work over events; one that makes it throw is found by halving and becomes a dead letter, and its neighbours pass.
 * Errors that say how to recover from them are no event's fault and are thrown. `work` may be called again for the same
 * events. The results are over the events that could be worked on, in their order.
 */
export async function isolatePoisonPills<T, R>(
  { stage, batch, schemaId, nowMs }: EventWork,
  events: readonly T[],
  viewOf: (event: T) => { view: EncodedEvent; coordinate: SourcePosition | null },
  work: (events: readonly T[]) => Promise<R>,
): Promise<{ results: R[]; dead: DeadLetter[] }> {
  const { results, poisonPills } = await isolate(events, work, isUnexpected);
  const dead = poisonPills.map(({ item, error }) => {
    const { view, coordinate } = viewOf(item);
    const writer = createBatchWriter(schemaId);
    writer.add(coordinate, view.personBytes, view.eventBytes);
    const nowhere = { partition: batch.partition, offset: -1, index: -1 };
    const place = { stage, topic: coordinate === null ? batch.topic : TOPICS.raw, ...(coordinate ?? nowhere) };
    return createDeadLetter(place, 'transform_failed', kindOf(error), writer.finish(), nowMs);
  });
  return { results, dead };
}

/** An error without a way to recover. */
export function isUnexpected(error: unknown): boolean {
  const says = error instanceof Error && 'recovery' in error;
  return !says && recoveryOf(error) === 'stop';
}

/** Name and code: an error's message may quote what it was about. */
export function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code } = error as Error & { code?: unknown };
  return typeof code === 'string' ? `${error.name} ${code}` : error.name;
}

/** What a stage did with one batch; in = passed + dropped + diverted + dead. */
export interface BatchCounts {
  in: number;
  passed: number;
  dropped: Map<string, number>;
  diverted: Map<string, number>;
  dead: Map<string, number>;
  /** Arrival at the edge of the oldest event passed; null where none was. */
  oldestMs: number | null;
}

export function emptyBatchCounts(): BatchCounts {
  return { in: 0, passed: 0, dropped: new Map(), diverted: new Map(), dead: new Map(), oldestMs: null };
}

export function count(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

/** Adds a tally to the process's metrics, with the time that its batch took. */
export function publishBatchCounts(metrics: Metrics, tally: BatchCounts, startedMs: number, nowMs: number): void {
  metrics.in(tally.in);
  metrics.passed(tally.passed);
  for (const [reason, number] of tally.dropped) metrics.dropped(reason, number);
  for (const [retryTopic, number] of tally.diverted) metrics.diverted(retryTopic, number);
  for (const [reason, number] of tally.dead) metrics.dead(reason, number);
  metrics.batchSeconds((nowMs - startedMs) / 1000);
  if (tally.oldestMs !== null) metrics.ageSeconds(Math.max(0, nowMs - tally.oldestMs) / 1000);
}
