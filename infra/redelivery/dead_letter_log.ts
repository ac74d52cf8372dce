// Dead-letter topics: records, and the marks that say which were resent or resolved.
import { createKafka, type KafkaSession } from '#infra/kafka/client.ts';
import { topicOffsets, topicOffsetsAt } from '#infra/kafka/offsets.ts';
import { createKeyedProducer, type PartitionRecords } from '#infra/kafka/producers.ts';
import { readPartitions, readTopic } from '#infra/kafka/read_topic.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { deadTopic, STAGES, type Stage, TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Codec, EventBatchReader } from '#infra/registry/codec.ts';
import { RegistryError } from '#infra/registry/schema_registry.ts';
import { type DeadLetterPosition, deadLetterId, deadLetterKey } from '#pipelines/redelivery/dead_letter.ts';
import type { DeadLetterStatus, MarkOutcome, Resolution } from '#pipelines/redelivery/resend.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { DeadLetter, DeadResolution } from '#schemas/records.ts';

export interface LoggedDeadLetter {
  id: string;
  place: DeadLetterPosition;
  deadLetter: DeadLetter;
}

interface Window {
  partition: number;
  first: number;
  /** Exclusive. */
  end: number;
}

/** The offsets of a stage's letters from a time on (milliseconds since 1970 UTC; null: all), by partition. */
export async function windowsOf(session: KafkaSession, stage: Stage, sinceMs: number | null): Promise<Window[]> {
  const topic = deadTopic(stage);
  const ends = await topicOffsets(session.admin, topic);
  const begins = sinceMs === null ? [] : await topicOffsetsAt(session.admin, topic, sinceMs);
  const beginOf = new Map(begins.map(({ partition, offset }) => [partition, Number(offset)]));
  return ends
    .map(({ partition, low, high }) => ({
      partition,
      first: Math.max(Number(low), beginOf.get(partition) ?? 0),
      end: Number(high),
    }))
    .filter(({ first, end }) => first < end)
    .sort((a, b) => a.partition - b.partition);
}

/** The letters in some offset ranges of one stage, in order, if the caller wants their offset or has room for their bytes. */
export async function readDeadLetters(
  session: KafkaSession,
  codec: Codec<DeadLetter>,
  stage: Stage,
  windows: readonly Window[],
  isWanted: (place: DeadLetterPosition, bytes: number) => boolean,
): Promise<LoggedDeadLetter[]> {
  const found: { place: DeadLetterPosition; record: InRecord }[] = [];
  const spans = new Map(windows.map(({ partition, first, end }) => [partition, { first, end }]));
  if (spans.size === 0) return [];
  await readPartitions({
    kafka: session.kafka,
    topic: deadTopic(stage),
    groupPrefix: session.config.prefix,
    spans,
    async onRecords(records, partition) {
      const span = spans.get(partition);
      for (const record of records) {
        const place = { stage, partition, offset: record.offset };
        if (span === undefined || record.offset < span.first || record.offset >= span.end) continue;
        if (isWanted(place, record.value?.length ?? 0)) found.push({ place, record });
      }
    },
    onProgress: () => undefined,
  });
  found.sort((a, b) => a.place.partition - b.place.partition || a.place.offset - b.place.offset);
  const deadLetters: LoggedDeadLetter[] = [];
  for (const { place, record } of found) {
    const read = await codec.decode(record.value);
    if (read.ok) deadLetters.push({ id: deadLetterId(place), place, deadLetter: read.value });
  }
  return deadLetters;
}

const isStage = (name: string): name is Stage => (STAGES as readonly string[]).includes(name);

export async function findDeadLetters(
  { session, codec }: { session: KafkaSession; codec: Codec<DeadLetter> },
  places: readonly DeadLetterPosition[],
): Promise<LoggedDeadLetter[]> {
  const wanted = new Set(places.map(deadLetterId));
  const deadLetters: LoggedDeadLetter[] = [];
  for (const [stage, ones] of Map.groupBy(places, (place) => place.stage)) {
    if (!isStage(stage)) continue;
    const windows = (await windowsOf(session, stage, null)).flatMap(({ partition, first, end }) => {
      const offsets = ones.filter((one) => one.partition === partition).map(({ offset }) => offset);
      const from = Math.max(first, Math.min(...offsets));
      const to = Math.min(end, Math.max(...offsets) + 1);
      return offsets.length > 0 && from < to ? [{ partition, first: from, end: to }] : [];
    });
    deadLetters.push(
      ...(await readDeadLetters(session, codec, stage, windows, (place) => wanted.has(deadLetterId(place)))),
    );
  }
  return deadLetters;
}

/**
 * A letter's events; null if they cannot be read. It does not wait for a schema that the registry or this process does not
 * know yet: one such letter would hold up the others of a page or of a request.
 */
export async function eventsOf(reader: EventBatchReader, { bytes }: DeadLetter): Promise<EncodedEvent[] | null> {
  try {
    const read = await reader.read(bytes);
    return read.ok ? read.value : null;
  } catch (error) {
    if (error instanceof RegistryError && error.code !== 'registry_unavailable') return null;
    throw error;
  }
}

export interface MarksWorld {
  session: KafkaSession;
  codec: Codec<DeadLetter>;
  resolutions: Codec<DeadResolution>;
  logger: Logger;
}

/** What is known of letters beside themselves, by their keys. */
export interface RedeliveryState {
  resentAtMs: ReadonlyMap<string, number>;
  resolutions: ReadonlyMap<string, Resolution>;
}

/** One partition, so that of two people who say something of a letter the later one counts. */
const PARTITION = 0;
const WRITE_RETRIES = 8;

export function marksOf(
  { id, deadLetter }: Pick<LoggedDeadLetter, 'id' | 'deadLetter'>,
  marks: RedeliveryState,
): DeadLetterStatus {
  const key = deadLetterKey(id, deadLetter);
  return { resentAtMs: marks.resentAtMs.get(key) ?? null, resolution: marks.resolutions.get(key) ?? null };
}

export async function readMarks(world: MarksWorld): Promise<RedeliveryState> {
  const [resentAtMs, resolutions] = await Promise.all([readResent(world), readResolutions(world)]);
  return { resentAtMs, resolutions };
}

/** When each letter was resent, by its key. */
export async function readResent({
  session,
  codec,
}: Pick<MarksWorld, 'session' | 'codec'>): Promise<Map<string, number>> {
  const resent = new Map<string, number>();
  await readTopic(session, TOPICS.resent, async ({ key, value, timestampMs }) => {
    if ((await codec.decode(value)).ok) resent.set(key?.toString('utf8') ?? '', timestampMs);
  });
  return resent;
}

/** The record that a letter was resent: all of the letter but its value. */
export function resentRecord(
  { codec, nowMs }: Pick<MarksWorld, 'codec'> & { nowMs(): number },
  key: string,
  deadLetter: DeadLetter,
): PartitionRecords {
  const value = codec.encode({ ...deadLetter, died_at: nowMs(), bytes: Buffer.alloc(0) });
  return [TOPICS.resent, 0, [{ key, value }]];
}

async function readResolutions({ session, resolutions }: MarksWorld): Promise<Map<string, Resolution>> {
  const found = new Map<string, Resolution>();
  await readTopic(session, TOPICS.resolved, async ({ key, value }) => {
    const read = await resolutions.decode(value);
    if (!read.ok) return;
    const { note, changed_by: by, changed_at: atMs, resolved } = read.value;
    if (resolved) found.set(key?.toString('utf8') ?? '', { note, by, atMs });
    else found.delete(key?.toString('utf8') ?? '');
  });
  return found;
}

/** Writes that somebody is done with letters, or that these are open again; returns when all replicas have it. */
async function writeMarks(
  { session, resolutions, logger }: MarksWorld,
  deadLetters: readonly LoggedDeadLetter[],
  mark: Omit<DeadResolution, 'letter_id'>,
): Promise<void> {
  if (deadLetters.length === 0) return;
  const producer = await createKeyedProducer(createKafka(session.config, 'svc.control.resolve', logger, WRITE_RETRIES));
  try {
    await producer.send(
      deadLetters.map(({ id, deadLetter }) => ({
        topic: TOPICS.resolved,
        partition: PARTITION,
        key: deadLetterKey(id, deadLetter),
        value: resolutions.encode({ ...mark, letter_id: id }),
      })),
    );
  } finally {
    await producer.stop();
  }
}

interface ResolvingWorld extends MarksWorld {
  nowMs(): number;
}

/** Notes that somebody is done with letters, and why. */
export async function resolveDeadLetters(
  world: ResolvingWorld,
  places: readonly DeadLetterPosition[],
  note: string,
  by: string,
): Promise<Map<string, MarkOutcome>> {
  const found = await findDeadLetters(world, places);
  await writeMarks(world, found, { note, changed_by: by, changed_at: world.nowMs(), resolved: true });
  return outcomesOf(places, found, () => 'resolved');
}

export async function reopenDeadLetters(
  world: ResolvingWorld,
  places: readonly DeadLetterPosition[],
  by: string,
): Promise<Map<string, MarkOutcome>> {
  const marks = await readMarks(world);
  const found = await findDeadLetters(world, places);
  const isResolved = (one: LoggedDeadLetter): boolean => marksOf(one, marks).resolution !== null;
  const mark = { note: '', changed_by: by, changed_at: world.nowMs(), resolved: false };
  await writeMarks(world, found.filter(isResolved), mark);
  return outcomesOf(places, found, (one) => (isResolved(one) ? 'reopened' : 'not_resolved'));
}

function outcomesOf(
  places: readonly DeadLetterPosition[],
  found: readonly LoggedDeadLetter[],
  outcomeOf: (deadLetter: LoggedDeadLetter) => MarkOutcome,
): Map<string, MarkOutcome> {
  const outcomes = new Map<string, MarkOutcome>(places.map((place) => [deadLetterId(place), 'unknown']));
  for (const one of found) outcomes.set(one.id, outcomeOf(one));
  return outcomes;
}
