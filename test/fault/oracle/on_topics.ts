import { deadTopic, STAGES, TOPICS } from '#infra/kafka/topics.ts';
import { readBatch } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { schemaType } from '#schemas/schemas.ts';
import { readWire } from '#schemas/wire.ts';
import type { TopicRecord } from '#test/harness/topic.ts';
import type { PlantedRecord } from '../row.ts';
import type { Ends } from './topics.ts';
import { readBehind } from './topics.ts';

/** The topics that are read back after a row. */
export const READ_TOPICS = [TOPICS.raw, TOPICS.unique, TOPICS.identified, ...STAGES.map(deadTopic)];

/** What stands on the topics: how often each of a site's events, and which records are dead. */
export interface OnTopics {
  raw: Map<string, number>;
  unique: Map<string, number>;
  identified: Map<string, number>;
  /** `topic partition offset stage` of each dead letter, in order. */
  dead: string[];
}

const READ_MS = 20_000;

/** Reads what a row left on the topics, until everything expected is there. */
export async function readOnTopics(
  brokers: string,
  starts: Ends,
  site: string,
  expected: ReadonlySet<string>,
  planted: readonly PlantedRecord[],
): Promise<OnTopics> {
  const deadExpected = expectedDead(planted).length;
  let read: OnTopics = { raw: new Map(), unique: new Map(), identified: new Map(), dead: [] };
  await readBehind(
    brokers,
    starts,
    (records) => {
      read = sorted(records, site);
      const isWhole = [read.raw, read.unique, read.identified].every((ids) => isSubset(expected, ids));
      return isWhole && read.dead.length >= deadExpected;
    },
    READ_MS,
  );
  return read;
}

/** Every stage that reads a planted record puts it aside once. */
export function expectedDead(planted: readonly PlantedRecord[]): string[] {
  return planted.flatMap(({ topic, partition, offset, stages }) =>
    stages.map((stage) => `${topic} ${partition} ${offset} ${stage}`),
  );
}

function isSubset(ids: ReadonlySet<string>, found: ReadonlyMap<string, number>): boolean {
  for (const id of ids) if (!found.has(id)) return false;
  return true;
}

function sorted(records: readonly TopicRecord[], site: string): OnTopics {
  const of = (topic: string): TopicRecord[] => records.filter((record) => record.topic === topic);
  return {
    raw: counted(of(TOPICS.raw), site),
    unique: counted(of(TOPICS.unique), site),
    identified: counted(of(TOPICS.identified), site),
    dead: STAGES.flatMap((stage) => of(deadTopic(stage)).map(placeOf)),
  };
}

/** Records that hold no batch are somebody's poison: they have no events. */
function counted(records: readonly TopicRecord[], site: string): Map<string, number> {
  const times = new Map<string, number>();
  for (const { value } of records) {
    for (const id of idsOf(value, site)) times.set(id, (times.get(id) ?? 0) + 1);
  }
  return times;
}

function idsOf(value: Buffer | null, site: string): string[] {
  const wire = readWire(value);
  if (!wire.ok) return [];
  try {
    return readBatch(wire.body).flatMap(({ siteId, eventId }) => (siteId === site ? [eventId] : []));
  } catch {
    return [];
  }
}

function placeOf({ value }: TopicRecord): string {
  const wire = readWire(value);
  if (!wire.ok) throw new Error(`a dead letter that cannot be read: ${wire.code}`);
  const { topic, partition, offset, stage } = schemaType('dead_letter').fromBuffer(wire.body) as DeadLetter;
  return `${topic} ${partition} ${offset} ${stage}`;
}
