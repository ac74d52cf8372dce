// For how long what a group has still to take has been waiting, by when partitions ended where.

import { nameOf, type TopicPartition } from './partition_state.ts';

/** Where a partition begins and ends, and what its group has committed of it; null where nothing was ever committed. */
export interface Position extends TopicPartition {
  low: number;
  high: number;
  committed: number | null;
}

/** The first offset that a group has still to take, once it is written. */
const nextOf = ({ low, committed }: Position): number => Math.max(low, committed ?? low);

/**
 * Records that a group has still to take. What was deleted by age before the group took it is no lag: nobody can take it
 * any more.
 */
export function lagOf(position: Position) {
  const { topic, partition, high } = position;
  return { topic, partition, records: Math.max(0, high - nextOf(position)) };
}

/** Ages that are told apart of what nothing is known of yet: beyond the last one a group is behind what topics keep. */
export const AGES_MS = [10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000, 691_200_000] as const;
/** So much too short may be what is said, or a tenth of it. */
const ACCURACY_MS = 30_000;
const ACCURACY_RATIO = 0.1;
/** Ends of a partition that are remembered at the most. */
const ENDS_MAX = 64;

/** Where a partition ended at a moment. */
interface End {
  atMs: number;
  high: number;
}

interface Waiting extends TopicPartition {
  next: number;
  high: number;
  /** In order of time: those behind what was taken, and before them the last one that was not. */
  ends: readonly End[];
}

/**
 * Knows for how long the oldest record that a group has still to take has been waiting: at least since the first moment at which the
 * partition is known to have ended behind it. Sees by itself where partitions end at each look, and says at which moments Kafka is to be
 * asked for it: as of the time before the process looked, of which nothing was known, or when it was stopped itself.
 */
export function createWaitingTimes() {
  let all = new Map<string, Waiting>();

  const waitingIn = (topic: string): Waiting[] =>
    [...all.values()].filter((one) => one.topic === topic && one.high > one.next);

  return {
    /** What there is now; partitions that are missing are forgotten. `nowMs`, as in all that follows: of one clock, in milliseconds. */
    look(positions: readonly Position[], nowMs: number): void {
      const before = all;
      all = new Map();
      for (const position of positions) {
        const { topic, partition, high } = position;
        const next = nextOf(position);
        // One that ended further on was that of a topic of before.
        const ends = (before.get(nameOf(position))?.ends ?? []).filter((end) => end.high <= high);
        if (high <= next) ends.length = 0;
        if (high <= next || high !== ends.at(-1)?.high) ends.push({ atMs: nowMs, high });
        all.set(nameOf(position), { topic, partition, next, high, ends: inUse(ends, next) });
      }
    },
    /** Milliseconds for each position of the last look. */
    ages: (positions: readonly Position[], nowMs: number): number[] =>
      positions.map((position) => {
        const waiting = all.get(nameOf(position));
        return waiting === undefined ? 0 : ageOf(waiting, nowMs);
      }),
    /** The moment of which it is to be asked where the topic's partitions ended; null where the greatest of its ages is known well enough. */
    question(topic: string, nowMs: number): number | null {
      const waiting = waitingIn(topic);
      const unknown = waiting.find((one) => takenEnd(one) === null);
      if (unknown !== undefined) {
        const known = ageOf(unknown, nowMs);
        const further = AGES_MS.find((age) => age > known);
        return further === undefined ? null : nowMs - further;
      }
      const oldest = waiting.sort((one, other) => takenMs(one) - takenMs(other))[0];
      if (oldest === undefined) return null;
      const ageMs = ageOf(oldest, nowMs);
      const gapMs = nowMs - ageMs - takenMs(oldest);
      return gapMs <= Math.max(ACCURACY_MS, ageMs * ACCURACY_RATIO) ? null : nowMs - ageMs - gapMs / 2;
    },
    /** Takes where the topic's partitions ended at a moment. */
    learn(topic: string, atMs: number, highs: ReadonlyMap<number, number>): void {
      for (const waiting of waitingIn(topic)) {
        const high = highs.get(waiting.partition);
        if (high === undefined) continue;
        const ends = [...waiting.ends, { atMs, high: Math.min(high, waiting.high) }];
        waiting.ends = inUse(
          ends.sort((one, other) => one.atMs - other.atMs),
          waiting.next,
        );
      }
    },
  };
}

/** The last moment at which everything is known to have been taken that was there; null where no such is known. */
const takenEnd = ({ ends, next }: Waiting): End | null => ends.find((end) => end.high <= next) ?? null;
const takenMs = (waiting: Waiting): number => takenEnd(waiting)?.atMs ?? Number.NEGATIVE_INFINITY;

function ageOf({ ends, next, high }: Waiting, nowMs: number): number {
  const since = high > next ? ends.find((end) => end.high > next) : undefined;
  return since === undefined ? 0 : nowMs - since.atMs;
}

/** Without what tells nothing any more, and where there are too many without every second of the later ones: they can be asked for again. */
function inUse(ends: readonly End[], next: number): End[] {
  const first = ends.findIndex((end) => end.high > next);
  if (first < 0) return ends.slice(-1);
  const used = ends.filter((end, index) => index === first - 1 || (index >= first && end.high > next));
  return used.length > ENDS_MAX ? used.filter((_, index) => index < 2 || index % 2 === 0) : used;
}
