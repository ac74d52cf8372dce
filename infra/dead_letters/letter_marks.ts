import { createKafka } from '#infra/kafka/client.ts';
import { createKeyedProducer } from '#infra/kafka/producer/keyed_producer.ts';
import { readTopic } from '#infra/kafka/reader/read_topic.ts';
import type { KafkaSession } from '#infra/kafka/session.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Codec } from '#infra/registry/codec.ts';
import { letterKey } from '#pipelines/dead_letter_id.ts';
import type { LetterMarks, Resolution } from '#pipelines/letter_state.ts';
import type { DeadLetter, DeadResolution } from '#schemas/records.ts';
import type { Letter } from './read_letters.ts';

/** What marks are read and written with. */
export interface MarksWorld {
  session: KafkaSession;
  codec: Codec<DeadLetter>;
  resolutions: Codec<DeadResolution>;
  logger: Logger;
}

/** What is known of letters beside themselves, by their keys. */
export interface Marks {
  resentAtMs: ReadonlyMap<string, number>;
  resolutions: ReadonlyMap<string, Resolution>;
}

/** One partition, so that of two people who say something of a letter the later one counts. */
const PARTITION = 0;
const WRITE_RETRIES = 8;

export function marksOf({ id, letter }: Pick<Letter, 'id' | 'letter'>, marks: Marks): LetterMarks {
  const key = letterKey(id, letter);
  return { resentAtMs: marks.resentAtMs.get(key) ?? null, resolution: marks.resolutions.get(key) ?? null };
}

export async function readMarks(world: MarksWorld): Promise<Marks> {
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

/** The record of a letter that was resent: all of the letter but its value. */
export function resentNote(letter: DeadLetter, nowMs: number): DeadLetter {
  return { ...letter, died_at: nowMs, bytes: Buffer.alloc(0) };
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
export async function writeMarks(
  { session, resolutions, logger }: MarksWorld,
  letters: readonly Letter[],
  mark: Omit<DeadResolution, 'letter_id'>,
): Promise<void> {
  if (letters.length === 0) return;
  const producer = await createKeyedProducer(createKafka(session.config, 'svc.control.resolve', logger, WRITE_RETRIES));
  try {
    await producer.send(
      letters.map(({ id, letter }) => ({
        topic: TOPICS.resolved,
        partition: PARTITION,
        key: letterKey(id, letter),
        value: resolutions.encode({ ...mark, letter_id: id }),
      })),
    );
  } finally {
    await producer.stop();
  }
}
