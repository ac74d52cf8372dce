import { createMutex, type Mutex } from '#infra/concurrency/mutex.ts';
import type { Settled, Settlement } from '#pipelines/quota/settle.ts';
import {
  type PartitionState,
  type PartitionsOptions,
  readPartition,
  restoreIfLost,
  settleOne,
  takeUp,
} from './settled_partition.ts';

/** The partitions of events.raw whose settlement is this process's. */
export interface Partitions {
  /** To be called when a partition was assigned: reads what is settled of it. Calls `progressed` as it goes on. */
  load(partition: number, progressed?: () => void): Promise<void>;
  /** Settles up to an offset of an events.raw, and writes the checkpoint once `done` has resolved; answers the next offset of events.raw to settle. */
  settle(
    partition: number,
    settlements: readonly Settlement[],
    upTo: { settledOffset: number; log: string },
    done: (settled: readonly Settled[]) => Promise<void>,
  ): Promise<number>;
  /** Puts back what Redis has lost of these partitions, and forgets those that are not among them. */
  check(assigned: readonly number[]): Promise<void>;
}

/** For what nobody watches. */
const ALONE = (): void => undefined;

/**
 * Redis is an index: quota.usage has the truth. What was settled is held in memory too and goes with every settlement,
 * so that a counter that was lost is put back first. A checkpoint for each partition, written last, tells of a loss in counters
 * that nothing is settled in.
 */
export function createPartitions(options: PartitionsOptions): Partitions {
  const { store } = options;
  const states = new Map<number, PartitionState>();
  const mutexes = new Map<number, Mutex>();

  /** One after the other on a partition. */
  function inTurn<T>(partition: number, work: () => Promise<T>): Promise<T> {
    const mutex = mutexes.get(partition) ?? createMutex();
    mutexes.set(partition, mutex);
    return mutex.run(work);
  }

  async function load(partition: number, progressed: () => void = ALONE): Promise<PartitionState> {
    const { state, checkpoint } = await readPartition(options, partition);
    states.set(partition, state);
    await restoreIfLost(options, partition, state, checkpoint, progressed);
    return state;
  }

  async function checkOne(partition: number): Promise<void> {
    const state = states.get(partition);
    if (state === undefined) await load(partition);
    else await restoreIfLost(options, partition, state, (await store.checkpoints()).get(partition), ALONE);
  }

  return {
    load: (partition, progressed) =>
      inTurn(partition, async () => {
        await load(partition, progressed);
      }),
    settle: (partition, settlements, { settledOffset, log }, done) =>
      inTurn(partition, async () => {
        const state = states.get(partition) ?? (await load(partition));
        takeUp(state, log);
        const settled = await Promise.all(settlements.map((settlement) => settleOne(store, settlement, state)));
        await done(settled);
        state.settledOffset = Math.max(state.settledOffset, settledOffset);
        if (!(await store.checkpoint(partition, state.settledOffset, state.generation)))
          await restoreIfLost(options, partition, state, undefined, ALONE);
        return state.settledOffset;
      }),
    async check(assigned) {
      for (const partition of states.keys()) if (!assigned.includes(partition)) states.delete(partition);
      // Side by side, as learning reads a topic to its end and those that come together share that.
      await Promise.all(assigned.map((partition) => inTurn(partition, () => checkOne(partition))));
    },
  };
}
