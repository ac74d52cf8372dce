// How far consumer groups are behind: of one process for its metrics, and of all stages for the dashboard; and whether a process
// still gets on with its partitions.

import type { Admin } from 'kafkajs';
import { repeat } from '#infra/concurrency/time_limits.ts';
import type { Logger } from '#infra/log/logger.ts';
import { topicOffsets, topicOffsetsAt } from '../offsets.ts';
import { nameOf, type TopicPartition } from './partition_state.ts';
import { AGES_MS, createWaitingTimes, lagOf, type Position } from './waiting_times.ts';

interface LagWatchOptions {
  admin: Admin;
  groupId: string;
  assigned(): readonly TopicPartition[];
  /** What the process has fetched of them: markers of transactions alone are no records that wait. */
  progress(): readonly PartitionProgress[];
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
  const { admin, groupId, assigned, progress, onLags, logger, nowMs, wallMs, intervalMs = LAG_INTERVAL_MS } = options;
  const waits = createWaitingTimes();
  async function learn(): Promise<void> {
    for (const topic of new Set(assigned().map((one) => one.topic))) {
      for (let asks = 0; asks < ASKS_MAX; asks += 1) {
        const atMs = waits.question(topic, nowMs());
        if (atMs === null) break;
        waits.learn(topic, atMs, await endsAt(admin, topic, wallMs() - (nowMs() - atMs)));
      }
    }
  }
  const ask = async (): Promise<void> => {
    const positions = await positionsOf(admin, groupId, assigned());
    const left = leftOf(positions, progress());
    waits.look(left, nowMs());
    // How long something waits is not worth that nobody knows how much: it is asked again at the next look.
    await learn().catch((error: unknown) => logger.info({ group: groupId, err: error }, 'age of lag not measured'));
    const ages = waits.ages(left, nowMs());
    onLags(positions.map((at, index) => ({ ...lagOf(at), high: at.high, waitsMs: ages[index] ?? 0 })));
  };
  const onFailure = (error: unknown): void => {
    logger.info({ group: groupId, err: error }, 'lag not measured');
    onLags([]);
  };
  return repeat(ask, () => intervalMs, onFailure);
}

/** Requests for a topic at one look. */
const ASKS_MAX = 12;

/** Behind what was fetched, and is not in work, nothing waits but markers of transactions, which are never committed. */
function leftOf(positions: readonly Position[], progress: readonly PartitionProgress[]): Position[] {
  const fetched = new Map(progress.filter(({ isBusy }) => !isBusy).map((one) => [nameOf(one), one.nextOffset]));
  return positions.map((position) =>
    (fetched.get(nameOf(position)) ?? 0) >= position.high ? { ...position, committed: position.high } : position,
  );
}

/** Where each partition of a topic ended at a moment, in milliseconds since 1970 UTC. */
async function endsAt(admin: Admin, topic: string, atMs: number): Promise<Map<number, number>> {
  // The first offset of that time or later, -1 where there is none: what stands before it is older.
  const firsts = await topicOffsetsAt(admin, topic, Math.floor(atMs));
  return new Map(
    firsts.map(({ partition, offset }) => [partition, Number(offset) < 0 ? Number.POSITIVE_INFINITY : Number(offset)]),
  );
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

/**
 * Asks Kafka how far stages are; topics that several of them read are asked for once.
 *
 * @param isTimed Whether it is asked of a topic for how long something waits there.
 */
export async function readStages(
  options: StageWatchOptions,
  stages: readonly string[],
  isTimed: (topic: string) => boolean = () => true,
): Promise<StageReading[]> {
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
      const timed = positions.filter(({ topic }) => isTimed(topic));
      const waitsMs = await waitsOf(options, timed);
      return { stage, consumers: consumers.get(groupOf(stage)) ?? 0, positions, waitsMs };
    }),
  );
}

async function waitsOf(
  { admin, nowMs }: StageWatchOptions,
  positions: readonly Position[],
): Promise<Map<string, number>> {
  const waiting = positions.filter((position) => lagOf(position).records > 0);
  const waits = createWaitingTimes();
  waits.look(waiting, 0);
  const byTopic = new Map<string, number>();
  for (const [topic, ones] of Map.groupBy(waiting, (position) => position.topic)) {
    for (const ageMs of AGES_MS) {
      waits.learn(topic, -ageMs, await endsAt(admin, topic, nowMs() - ageMs));
      if (Math.max(...waits.ages(ones, 0)) < ageMs) break;
      byTopic.set(topic, ageMs);
    }
  }
  return byTopic;
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
