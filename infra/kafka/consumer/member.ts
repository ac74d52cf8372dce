// The state of a group member, and how it commits: one request at a time, confirmed by the client's event.

import type { Consumer, TopicPartitionOffsetAndMetadata } from 'kafkajs';
import type { Watchdog } from '#infra/concurrency/time_limits.ts';
import { PartitionLostError } from '#infra/errors.ts';
import type { ConsumeOptions, OffsetCommit } from './consumption.ts';
import { createSlot, nameOf, type Slot, type TopicPartition } from './partition_state.ts';

/** The state of a process as a member of its consumer group. The modules beside this one are the steps that change it. */
export interface Member {
  readonly options: ConsumeOptions;
  readonly consumer: Consumer;
  readonly committer: Committer;
  readonly linger: Linger;
  readonly watchdog: Watchdog;
  /** Every partition that was ever assigned, by name. */
  readonly slots: Map<string, Slot>;
  /** Work that runs now, of all partitions. */
  readonly inWork: Set<Promise<void>>;
  /** Another after every assignment, and after every giving away. */
  generation: number;
  /** Nothing new is begun: partitions are about to be given away, or the consumer stops. */
  halted: boolean;
  stopped: boolean;
  /** Leaves a group that is being joined; null until the client first joins. */
  leaveJoining: (() => Promise<void>) | null;
  assignment: TopicPartition[];
  assignedNames: ReadonlySet<string>;
  /** When the coordinator last confirmed this process as a member, by the monotonic clock. */
  heardMs: number;
}

/** The state of a partition, made where there is none yet. */
export function slotOf({ slots }: Member, at: TopicPartition): Slot {
  const name = nameOf(at);
  let slot = slots.get(name);
  if (slot === undefined) {
    slot = createSlot(at);
    slots.set(name, slot);
  }
  return slot;
}

/** Commits offsets in one request, as `Consumption.commitAll` has it. */
export async function commitOffsets(member: Member, offsets: readonly OffsetCommit[]): Promise<void> {
  if (offsets.some((at) => slotOf(member, at).acquired !== member.generation)) {
    throw new PartitionLostError('partition lost before its commit');
  }
  await member.watchdog.watch('a commit', () =>
    member.committer.commit(offsets.map(({ offset, ...at }) => ({ ...at, offset: String(offset) }))),
  );
}

interface Committer {
  /** Resolves when the coordinator has taken the offsets; throws PartitionLostError where it may not have. */
  commit(offsets: readonly Required<TopicPartitionOffsetAndMetadata>[]): Promise<void>;
  /** Commits that have no answer yet. */
  underWay(): number;
}

/**
 * Commits offsets of a running consumer. The client answers a commit like one that was made when its consumer has
 * crashed, or crashes meanwhile, and writes nothing (Runner.commitOffsets, kafkajs 2.2.4); only its event says that one
 * was made.
 */
export function createCommitter(consumer: Pick<Consumer, 'on' | 'events' | 'commitOffsets'>): Committer {
  /** Whether each commit under way was made. No offset of a partition is committed twice at a time. */
  const waiting = new Map<string, boolean>();
  consumer.on(consumer.events.COMMIT_OFFSETS, ({ payload }) => {
    const taken = payload.topics.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset }) => ({ topic, partition, offset })),
    );
    const name = commitKey(taken);
    if (waiting.has(name)) waiting.set(name, true);
  });
  return {
    async commit(offsets) {
      const name = commitKey(offsets);
      waiting.set(name, false);
      try {
        await consumer.commitOffsets([...offsets]);
        if (waiting.get(name) !== true) throw new PartitionLostError('the commit was not made');
      } finally {
        waiting.delete(name);
      }
    },
    underWay: () => waiting.size,
  };
}

interface CommittedOffset {
  topic: string;
  partition: number;
  offset: { toString(): string };
}

function commitKey(offsets: readonly CommittedOffset[]): string {
  return offsets
    .map(({ topic, partition, offset }) => `${topic}/${partition}/${offset.toString()}`)
    .toSorted()
    .join(' ');
}

/** Moments at which partitions begin batches, those of a process at the same moments. */
export interface Linger {
  /**
   * Resolves at a moment other than `begunMs`, the last one at which the partition began a batch, and answers it. Two moments
   * are at least `lingerMs` apart; the first one asked for after that time is there at once.
   */
  next(begunMs: number): Promise<number>;
}

/** For this share of `lingerMs` a moment still lasts: partitions that one fetch brought do not ask at the very same time. */
const MOMENT_LASTS = 0.2;

/**
 * A moment is not bound to the clock: it comes when the first partition has something, if `lingerMs` have passed. So a stage
 * takes what another one passes on at such moments as soon as it is there.
 */
export function createLinger(lingerMs: number, nowMs: () => number, sleep: (ms: number) => Promise<unknown>): Linger {
  let momentMs = Number.NEGATIVE_INFINITY;
  let following: Promise<unknown> | null = null;

  function isPast(begunMs: number): boolean {
    return begunMs === momentMs || nowMs() > momentMs + MOMENT_LASTS * lingerMs;
  }

  const left = (): number => momentMs + lingerMs - nowMs();

  return {
    async next(begunMs) {
      // Once for both, as the time may come between two looks at the clock.
      for (let leftMs = left(); leftMs > 0 && isPast(begunMs); leftMs = left()) {
        following ??= sleep(leftMs).finally(() => {
          following = null;
        });
        await following;
      }
      if (nowMs() >= momentMs + lingerMs) momentMs = nowMs();
      return momentMs;
    },
  };
}
