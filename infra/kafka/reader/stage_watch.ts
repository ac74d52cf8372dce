import type { Admin } from 'kafkajs';
import { lagOf, type Position } from '#infra/kafka/consumer/lag_watch.ts';
import { topicOffsets, topicOffsetsAt } from './topic_offsets.ts';

/** What Kafka says of the consumers of a stage. */
export interface StageReading {
  stage: string;
  /** Consumers that are members of its group now. */
  consumers: number;
  /** Of every partition of which it ever committed an offset. */
  positions: readonly Position[];
  /** By topic: what of it waits is older than so much; topics of which nothing that old waits are missing. */
  waitsMs: ReadonlyMap<string, number>;
}

/** Ages that are told apart. Each takes a request for every topic of which something waits. */
const AGES_MS = [10_000, 60_000, 600_000, 3_600_000, 21_600_000] as const;

export interface StageWatchOptions {
  admin: Admin;
  groupOf(stage: string): string;
  /** Milliseconds since 1970 UTC. */
  nowMs(): number;
}

/** Asks Kafka how far stages are. */
export async function readStages(options: StageWatchOptions, stages: readonly string[]): Promise<StageReading[]> {
  const { admin, groupOf } = options;
  const described = await admin.describeGroups(stages.map(groupOf));
  const consumers = new Map(described.groups.map(({ groupId, members }) => [groupId, members.length]));
  const ends = new Map<string, ReturnType<Admin['fetchTopicOffsets']>>();
  return Promise.all(
    stages.map(async (stage) => {
      const positions = await positionsOf(options, groupOf(stage), ends);
      const waitsMs = await waitsOf(options, positions);
      return { stage, consumers: consumers.get(groupOf(stage)) ?? 0, positions, waitsMs };
    }),
  );
}

/** Topics that several stages read are asked for once. */
async function positionsOf(
  { admin }: StageWatchOptions,
  groupId: string,
  ends: Map<string, ReturnType<Admin['fetchTopicOffsets']>>,
): Promise<Position[]> {
  const committed = await admin.fetchOffsets({ groupId });
  const read = committed.map(async ({ topic, partitions }) => {
    const asked = ends.get(topic) ?? topicOffsets(admin, topic);
    ends.set(topic, asked);
    const found = await asked;
    return partitions.flatMap(({ partition, offset }) => {
      const end = found.find((one) => one.partition === partition);
      if (end === undefined || Number(offset) < 0) return [];
      return [{ topic, partition, low: Number(end.low), high: Number(end.high), committed: Number(offset) }];
    });
  });
  return (await Promise.all(read)).flat();
}

async function waitsOf(options: StageWatchOptions, positions: readonly Position[]): Promise<Map<string, number>> {
  const waiting = positions.filter((position) => lagOf(position).records > 0);
  const waits = new Map<string, number>();
  for (const [topic, ones] of Map.groupBy(waiting, (position) => position.topic)) {
    const ageMs = await ageOf(options, topic, ones);
    if (ageMs > 0) waits.set(topic, ageMs);
  }
  return waits;
}

/** The greatest age that something that waits is over; 0 where it is younger than all. */
async function ageOf(
  { admin, nowMs }: StageWatchOptions,
  topic: string,
  positions: readonly Position[],
): Promise<number> {
  let over = 0;
  for (const ageMs of AGES_MS) {
    const at = new Map(
      (await topicOffsetsAt(admin, topic, nowMs() - ageMs)).map(({ partition, offset }) => [partition, Number(offset)]),
    );
    // The first offset of that time or later: what was not taken before it is older.
    const isOver = positions.some(({ partition, low, high, committed }) => {
      const first = at.get(partition) ?? high;
      return Math.max(low, committed ?? low) < (first < 0 ? high : first);
    });
    if (!isOver) break;
    over = ageMs;
  }
  return over;
}
