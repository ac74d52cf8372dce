import { readPartitions } from '#infra/kafka/reader/read_partitions.ts';
import { topicOffsets, topicOffsetsAt } from '#infra/kafka/reader/topic_offsets.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import type { KafkaSession } from '#infra/kafka/session.ts';
import { deadTopic, STAGES, type Stage } from '#infra/kafka/topics.ts';
import type { Codec, EventBatchReader } from '#infra/registry/codec.ts';
import { RegistryError } from '#infra/registry/schema_registry.ts';
import { presentReason } from '#pipelines/dead_letter.ts';
import { type LetterPlace, letterId } from '#pipelines/dead_letter_id.ts';
import type { EntryView } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';

/** A dead letter with its id. */
export interface Letter {
  id: string;
  place: LetterPlace;
  letter: DeadLetter;
}

/** Which offsets of a partition to read. */
export interface Window {
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
export async function readLetters(
  session: KafkaSession,
  codec: Codec<DeadLetter>,
  stage: Stage,
  windows: readonly Window[],
  isWanted: (place: LetterPlace, bytes: number) => boolean,
): Promise<Letter[]> {
  const found: { place: LetterPlace; record: InRecord }[] = [];
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
  const letters: Letter[] = [];
  for (const { place, record } of found) {
    const read = await codec.decode(record.value);
    if (!read.ok) continue;
    const reason = presentReason(read.value.reason);
    letters.push({ id: letterId(place), place, letter: { ...read.value, reason } });
  }
  return letters;
}

const isStage = (name: string): name is Stage => (STAGES as readonly string[]).includes(name);

/** The letters at these offsets. */
export async function findLetters(
  { session, codec }: { session: KafkaSession; codec: Codec<DeadLetter> },
  places: readonly LetterPlace[],
): Promise<Letter[]> {
  const wanted = new Set(places.map(letterId));
  const letters: Letter[] = [];
  for (const [stage, ones] of Map.groupBy(places, (place) => place.stage)) {
    if (!isStage(stage)) continue;
    const windows = (await windowsOf(session, stage, null)).flatMap(({ partition, first, end }) => {
      const offsets = ones.filter((one) => one.partition === partition).map(({ offset }) => offset);
      const from = Math.max(first, Math.min(...offsets));
      const to = Math.min(end, Math.max(...offsets) + 1);
      return offsets.length > 0 && from < to ? [{ partition, first: from, end: to }] : [];
    });
    letters.push(...(await readLetters(session, codec, stage, windows, (place) => wanted.has(letterId(place)))));
  }
  return letters;
}

/**
 * A letter's events; null if they cannot be read. It does not wait for a schema that the registry or this process does not
 * know yet: one such letter would hold up the others of a page or of a request.
 */
export async function eventsOf(reader: EventBatchReader, { bytes }: DeadLetter): Promise<EntryView[] | null> {
  try {
    const read = await reader.read(bytes);
    return read.ok ? read.value : null;
  } catch (error) {
    if (error instanceof RegistryError && error.code !== 'registry_unavailable') return null;
    throw error;
  }
}
