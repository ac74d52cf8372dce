// How far consumer groups are behind: of one process for its metrics, and of all stages for the dashboard; and whether a process
// still gets on with its partitions.

import type { Admin } from 'kafkajs';
import { repeat } from '#infra/concurrency/time_limits.ts';
import type { Logger } from '#infra/log/logger.ts';
import { topicOffsets, topicOffsetsAt } from '../offsets.ts';
import { nameOf, type TopicPartition } from './partition_state.ts';

/** Where a partition begins and ends, and what its group has committed of it; null where nothing was ever committed. */
interface Position extends TopicPartition {
  low: number;
  high: number;
  committed: number | null;
}

interface LagWatchOptions {
  admin: Admin;
  groupId: string;
  assigned(): readonly TopicPartition[];
  /** Told of all of them; of none where Kafka could not be asked, as what was known before may be wrong by now. */
  onLags(lags: readonly (ReturnType<typeof lagOf> & { high: number; waitsMs: number })[]): void;
  logger: Logger;
  /** Monotonic milliseconds. */
  nowMs(): number;
  /** Milliseconds since 1970 UTC. */
  wallMs(): number;
  intervalMs?: number;
}

export const LAG_INTERVAL_MS = 5_000;

/**
 * Measures the lag of a process's partitions by asking Kafka, every few seconds, so that it is known of a partition of
 * which nothing gets done, or nothing ever was. Answers how to stop.
 */
export function watchLag(options: LagWatchOptions): () => void {
  const { admin, groupId, assigned, onLags, logger, nowMs, wallMs, intervalMs = LAG_INTERVAL_MS } = options;
  const waits = createWaitingTimes();
  const ask = async (): Promise<void> => {
    const positions = await positionsOf(admin, groupId, assigned());
    const unknown = Map.groupBy(waits.unknown(positions), ({ topic }) => topic);
    for (const [topic, ones] of unknown) waits.begin(await pastEnds(admin, topic, ones, wallMs()), nowMs());
    const waitsMs = waits.at(positions, nowMs());
    onLags(positions.map((at, index) => ({ ...lagOf(at), high: at.high, waitsMs: waitsMs[index] ?? 0 })));
  };
  const onFailure = (error: unknown): void => {
    logger.info({ group: groupId, err: error }, 'lag not measured');
    onLags([]);
  };
  return repeat(ask, () => intervalMs, onFailure);
}

/**
 * Records that a group has still to take. What was deleted by age before the group took it is no lag: nobody can take it
 * any more.
 */
export function lagOf(position: Position) {
  const { topic, partition, high } = position;
  return { topic, partition, records: Math.max(0, high - nextOf(position)) };
}

/** The first offset that a group has still to take, once it is written. */
const nextOf = ({ low, committed }: Position): number => Math.max(low, committed ?? low);

/** Ends of a partition that are remembered at the most; then every second one is forgotten. */
const ENDS_MAX = 64;

/** Where a partition ended so long ago. */
interface PastEnd extends TopicPartition {
  ageMs: number;
  high: number;
}

/**
 * For how long the oldest record that a group has still to take has been waiting, by when a partition's end was first seen
 * behind it: at least so long, as of the time before the process began to look only some ends are known.
 */
export function createWaitingTimes() {
  let ends = new Map<string, { atMs: number; high: number }[]>();
  return {
    /** Partitions of which something waits and nothing is known. */
    unknown: (positions: readonly Position[]): Position[] =>
      positions.filter((position) => lagOf(position).records > 0 && !ends.has(nameOf(position))),
    /** Takes where partitions of which nothing is known ended before, the oldest first. */
    begin(past: readonly PastEnd[], nowMs: number): void {
      for (const [name, ones] of Map.groupBy(past, nameOf)) {
        const seen = ones.map(({ ageMs, high }) => ({ atMs: nowMs - ageMs, high }));
        ends.set(name, seen);
      }
    },
    /** Milliseconds for each position; of partitions that are missing everything is forgotten. */
    at(positions: readonly Position[], nowMs: number): number[] {
      const before = ends;
      ends = new Map();
      return positions.map((position) => {
        const { high } = position;
        const key = nameOf(position);
        const next = nextOf(position);
        const seen = (before.get(key) ?? []).filter((end) => end.high > next && end.high <= high);
        if (high > next && high !== seen.at(-1)?.high) seen.push({ atMs: nowMs, high });
        ends.set(key, seen.length > ENDS_MAX ? seen.filter((_, index) => index % 2 === 0) : seen);
        return nowMs - (seen[0]?.atMs ?? nowMs);
      });
    },
  };
}

/** Ages that are told apart. Each takes a request for every topic of which something waits. */
const AGES_MS = [10_000, 60_000, 600_000, 3_600_000, 21_600_000] as const;

/**
 * Where partitions of a topic ended at each of these ages, the oldest first, where something was there already that a group has
 * still to take. `nowMs`: milliseconds since 1970 UTC.
 */
async function pastEnds(
  admin: Admin,
  topic: string,
  positions: readonly Position[],
  nowMs: number,
): Promise<PastEnd[]> {
  const past: PastEnd[] = [];
  for (const ageMs of AGES_MS) {
    const found = await topicOffsetsAt(admin, topic, nowMs - ageMs);
    const firsts = new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
    const older = positions.flatMap((position): PastEnd[] => {
      const { partition, high } = position;
      // The first offset of that time or later, -1 where there is none: what stands before it is older.
      const first = firsts.get(partition) ?? -1;
      const end = first < 0 ? high : first;
      return nextOf(position) < end ? [{ topic, partition, ageMs, high: end }] : [];
    });
    if (older.length === 0) break;
    past.unshift(...older);
  }
  return past;
}

async function positionsOf(admin: Admin, groupId: string, of: readonly TopicPartition[]): Promise<Position[]> {
  const topics = [...new Set(of.map(({ topic }) => topic))];
  if (topics.length === 0) return [];
  const committed = await admin.fetchOffsets({ groupId, topics });
  const ends = new Map(
    await Promise.all(topics.map(async (topic) => [topic, await topicOffsets(admin, topic)] as const)),
  );
  const offsets = new Map(committed.map(({ topic, partitions }) => [topic, partitions]));
  return of.flatMap(({ topic, partition }) => {
    const end = ends.get(topic)?.find((one) => one.partition === partition);
    const offset = Number(offsets.get(topic)?.find((one) => one.partition === partition)?.offset ?? -1);
    if (end === undefined) return [];
    return [{ topic, partition, low: Number(end.low), high: Number(end.high), committed: offset < 0 ? null : offset }];
  });
}

export interface StageReading {
  stage: string;
  consumers: number;
  /** Of every partition of which it ever committed an offset. */
  positions: readonly Position[];
  /** By topic: what of it waits is older than so much; topics of which nothing that old waits are missing. */
  waitsMs: ReadonlyMap<string, number>;
}

export interface StageWatchOptions {
  admin: Admin;
  groupOf(stage: string): string;
  /** Milliseconds since 1970 UTC. */
  nowMs(): number;
}

/** Asks Kafka how far stages are; topics that several of them read are asked for once. */
export async function readStages(options: StageWatchOptions, stages: readonly string[]): Promise<StageReading[]> {
  const { admin, groupOf } = options;
  const described = await admin.describeGroups(stages.map(groupOf));
  const consumers = new Map(described.groups.map(({ groupId, members }) => [groupId, members.length]));
  const ends = new Map<string, ReturnType<Admin['fetchTopicOffsets']>>();

  async function positionsIn(groupId: string): Promise<Position[]> {
    const read = (await admin.fetchOffsets({ groupId })).map(async ({ topic, partitions }) => {
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

  return Promise.all(
    stages.map(async (stage) => {
      const positions = await positionsIn(groupOf(stage));
      const waitsMs = await waitsOf(options, positions);
      return { stage, consumers: consumers.get(groupOf(stage)) ?? 0, positions, waitsMs };
    }),
  );
}

async function waitsOf(
  { admin, nowMs }: StageWatchOptions,
  positions: readonly Position[],
): Promise<Map<string, number>> {
  const waiting = positions.filter((position) => lagOf(position).records > 0);
  const waits = new Map<string, number>();
  for (const [topic, ones] of Map.groupBy(waiting, (position) => position.topic)) {
    const [oldest] = await pastEnds(admin, topic, ones, nowMs());
    if (oldest !== undefined) waits.set(topic, oldest.ageMs);
  }
  return waits;
}

/** What a consumer has done of a partition that it has. */
export interface PartitionProgress extends TopicPartition {
  /** The offset behind what was fetched last; 0: nothing was fetched yet. */
  nextOffset: number;
  /** Grows with every step that is done. */
  steps: number;
  /** Whether something that was fetched is in work. */
  isBusy: boolean;
  /** Whether nothing is read on purpose, until a time. */
  rests: boolean;
}

/** Where a partition ends, and how many records its group has still to take. */
interface PartitionEnd extends TopicPartition {
  high: number;
  records: number;
}

/**
 * Finds partitions that stand still though records wait: the client has been seen to hold one and not to fetch from it, for hours,
 * while its heartbeats went on (kafkajs issue 1456), and a handler may wait for what never comes. Looks are counted and not the clock, as time in which the process
 * itself was stopped says nothing.
 *
 * @param looksMax Looks in a row after which a partition that has not moved counts as standing still.
 */
export function createProgressWatch(looksMax: number) {
  let still = new Map<string, { mark: string; looks: number }>();
  return {
    /** Those that stand still. Partitions that are missing, and all while nothing `counts`, are looked at anew. */
    look(all: readonly PartitionProgress[], ends: readonly PartitionEnd[], counts: boolean): TopicPartition[] {
      const before = still;
      still = new Map();
      if (!counts) return [];
      const endOf = new Map(ends.map((end) => [nameOf(end), end]));
      return all.flatMap((one) => {
        const { topic, partition, nextOffset, steps, isBusy, rests } = one;
        const { high = 0, records = 0 } = endOf.get(nameOf(one)) ?? {};
        // Markers of transactions behind the last record count as records that wait, but not once they were fetched.
        const waits = isBusy || (records > 0 && nextOffset < high);
        if (!waits || rests) return [];
        const mark = `${nextOffset} ${steps}`;
        const seen = before.get(nameOf(one));
        const looks = seen?.mark === mark ? seen.looks + 1 : 0;
        still.set(nameOf(one), { mark, looks });
        return looks >= looksMax ? [{ topic, partition }] : [];
      });
    },
  };
}
