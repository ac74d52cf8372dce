import { createMutex, type Mutex } from '#infra/concurrency/mutex.ts';
import type { Logger } from '#infra/log/logger.ts';
import {
  type Checkpoint,
  NOTHING_SETTLED,
  type QuotaStore,
  type Settled,
  type Settlement,
} from '#pipelines/quota/settle.ts';
import { type KnownUsage, nameOfMonth, type UsageFacts } from './usage_facts.ts';

interface PartitionState {
  known: KnownUsage;
  /** Next offset of events.raw that is not settled. */
  settledOffset: number;
  /** The generation of the counters that all of `known` is in. */
  generation: string;
}

export interface PartitionsOptions {
  store: QuotaStore;
  /** A name that was never given before. */
  newGeneration(): string;
  readFacts(): Promise<UsageFacts>;
  /** Next offset of events.raw that was not settled at the last commit. */
  committedOffset(partition: number): Promise<number>;
  isClosed(month: string): boolean;
  /** Called when counters were found lost and are put back. */
  onRestored(partition: number): void;
  logger: Logger;
}

/** The partitions of events.raw whose settlement is this process's. */
export interface Partitions {
  /** To be called when a partition was assigned: learns what is settled of it. */
  take(partition: number): Promise<void>;
  /** Settles, and marks that once `done` has resolved; answers the next offset of events.raw to settle. */
  settle(
    partition: number,
    settlements: readonly Settlement[],
    settledOffset: number,
    done: (settled: readonly Settled[]) => Promise<void>,
  ): Promise<number>;
  /** Puts back what Redis has lost of these partitions, and forgets those that are not among them. */
  check(assigned: readonly number[]): Promise<void>;
}

const NO_MARKS: ReadonlyMap<number, Checkpoint> = new Map();

/**
 * Redis is an index: quota.usage has the truth. What was settled is held in memory too and goes with every settlement,
 * so that a counter that was lost is put back first. A checkpoint for each partition, written last, tells of a loss in counters
 * that nothing is settled in.
 */
export function createPartitions(options: PartitionsOptions): Partitions {
  const { store } = options;
  const states = new Map<number, PartitionState>();
  const mutexes = new Map<number, Mutex>();

  function mutexOf(partition: number): Mutex {
    const mutex = mutexes.get(partition) ?? createMutex();
    mutexes.set(partition, mutex);
    return mutex;
  }

  async function learn(partition: number): Promise<PartitionState> {
    // First, as nothing need be read while Redis is away.
    const checkpoints = await store.checkpoints();
    const settledOffset = await options.committedOffset(partition);
    const facts = await options.readFacts();
    const generation = checkpoints.get(partition)?.generation ?? '';
    const state = { known: facts.get(partition) ?? new Map(), settledOffset, generation };
    states.set(partition, state);
    await restoreIfLost(partition, state, checkpoints);
    return state;
  }

  async function settleOne(settlement: Settlement, { known }: PartitionState): Promise<Settled> {
    const name = nameOfMonth(settlement);
    const settled = await store.settle(settlement, known.get(name) ?? NOTHING_SETTLED);
    const { accountId, month } = settlement;
    known.set(name, { accountId, month, used: settled.used, settledOffset: settled.settledOffset });
    return settled;
  }

  async function putBack(partition: number, state: PartitionState): Promise<void> {
    state.generation = options.newGeneration();
    await store.begin(partition, state.generation);
    for (const { accountId, month } of state.known.values()) {
      await settleOne({ accountId, month, partition, ranges: [], newestMs: 0 }, state);
      await store.dropReservations({ accountId, month });
    }
  }

  async function restoreIfLost(
    partition: number,
    state: PartitionState,
    checkpoints: ReadonlyMap<number, Checkpoint>,
  ): Promise<void> {
    const checkpoint = checkpoints.get(partition);
    if (checkpoint?.generation === state.generation && checkpoint.nextOffset >= state.settledOffset) return;
    for (const [name, { month }] of state.known) if (options.isClosed(month)) state.known.delete(name);
    do await putBack(partition, state);
    while (!(await store.checkpoint(partition, state.settledOffset, state.generation)));
    if (state.settledOffset === 0) return;
    options.logger.warn({ partition, months: state.known.size }, 'counters were lost and are put back');
    options.onRestored(partition);
  }

  return {
    take: (partition) =>
      mutexOf(partition).run(async () => {
        await learn(partition);
      }),
    settle: (partition, settlements, settledOffset, done) =>
      mutexOf(partition).run(async () => {
        const state = states.get(partition) ?? (await learn(partition));
        const settled = await Promise.all(settlements.map((settlement) => settleOne(settlement, state)));
        await done(settled);
        state.settledOffset = Math.max(state.settledOffset, settledOffset);
        if (!(await store.checkpoint(partition, state.settledOffset, state.generation)))
          await restoreIfLost(partition, state, NO_MARKS);
        return state.settledOffset;
      }),
    async check(assigned) {
      for (const partition of states.keys()) if (!assigned.includes(partition)) states.delete(partition);
      // Side by side, as learning reads a topic to its end and those that come together share that.
      await Promise.all(
        assigned.map((partition) =>
          mutexOf(partition).run(async () => {
            const state = states.get(partition);
            if (state === undefined) await learn(partition);
            else await restoreIfLost(partition, state, await store.checkpoints());
          }),
        ),
      );
    },
  };
}
