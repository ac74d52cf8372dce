import type { InRecord } from '#infra/kafka/record.ts';
import { deadTopic, TOPICS } from '#infra/kafka/topics.ts';
import { createCodec, createEventBatchReader, type EventBatchReader } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { EntryView } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';
import type { Replay } from '#schemas/setting.ts';

/** Events of one record of the topic that a replay reads. */
interface SourceRecord {
  views: EntryView[];
  /** Whether the record cannot be read, or was cut when it died. */
  unreadable: boolean;
}

/** What a replay reads, from one end of its range to the other. */
export interface Source {
  topic: string;
  /** Whether delivery reads the topic too: a replay stops where delivery has come. */
  sharedWithDelivery: boolean;
  /** Whether an event may stand there more than once: reading begins at the range's first offset, whatever was sent. */
  repeats: boolean;
  read(record: InRecord): Promise<SourceRecord>;
}

/** The events themselves, or the dead letters of the destination. */
export async function openSource(registry: Registry, replay: Replay): Promise<Source> {
  const reader = await createEventBatchReader(registry, TOPICS.identified);
  if (replay.source === 'dead_letters') return letters(registry, reader, replay.destination);
  return {
    topic: TOPICS.identified,
    sharedWithDelivery: true,
    repeats: false,
    read: ({ value }) => readEvents(reader, value),
  };
}

async function readEvents(reader: EventBatchReader, value: Buffer | null): Promise<SourceRecord> {
  const read = await reader.read(value);
  return read.ok ? { views: read.value, unreadable: false } : { views: [], unreadable: true };
}

async function letters(registry: Registry, reader: EventBatchReader, destination: string): Promise<Source> {
  const topic = deadTopic('delivery');
  const codec = await createCodec<DeadLetter>(registry, topic, 'dead_letter');
  return {
    topic,
    sharedWithDelivery: false,
    repeats: true,
    async read({ value }) {
      const decoded = await codec.decode(value);
      if (!decoded.ok) return { views: [], unreadable: true };
      const letter = decoded.value;
      if (letter.destination !== destination) return { views: [], unreadable: false };
      const isCut = letter.bytes.length < letter.bytes_total;
      return isCut ? { views: [], unreadable: true } : readEvents(reader, letter.bytes);
    },
  };
}
