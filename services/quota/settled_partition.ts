import type { Logger } from '#infra/log/logger.ts';
import {
  type Checkpoint,
  isSameLog,
  NOTHING_SETTLED,
  type QuotaStore,
  type Settled,
  type Settlement,
} from '#pipelines/quota/settle.ts';
import { type KnownUsage, nameOfMonth, type UsageFacts } from './usage_facts.ts';

/** What is settled of one partition of events.raw. */
export interface PartitionState {
  known: KnownUsage;
  /** Next offset of events.raw that is not settled. */
  settledOffset: number;
  /** The id of the events.raw that was counted last; empty while it is not known. */
  log: string;
  /** The generation of the counters that all of `known` is in. */
  generation: string;
}

export interface PartitionsOptions {
  store: QuotaStore;
  /** A name that was never given before. */
  newGeneration(): string;
  readFacts(): Promise<UsageFacts>;
  /** Next offset of events.raw that was not settled at the last commit, or its end where that lies before. */
  committedOffset(partition: number): Promise<number>;
  isClosed(month: string): boolean;
  /** Called when counters were found lost and are put back. */
  onRestored(partition: number): void;
  logger: Logger;
}

/** Reads what is settled of a partition, from Kafka, and its checkpoint, from Redis. */
export async function readPartition(
  options: PartitionsOptions,
  partition: number,
): Promise<{ state: PartitionState; checkpoint: Checkpoint | undefined }> {
  // First, as nothing need be read while Redis is away.
  const checkpoint = (await options.store.checkpoints()).get(partition);
  const settledOffset = await options.committedOffset(partition);
  const facts = await options.readFacts();
  const known = facts.get(partition) ?? new Map();
  return { state: { known, settledOffset, log: '', generation: checkpoint?.generation ?? '' }, checkpoint };
}

/** Settles against what is known of the month, and knows it afterwards. */
export async function settleOne(
  store: QuotaStore,
  settlement: Settlement,
  { known }: PartitionState,
): Promise<Settled> {
  const name = nameOfMonth(settlement);
  const settled = await store.settle(settlement, known.get(name) ?? NOTHING_SETTLED);
  const { accountId, month } = settlement;
  const { used, settledOffset, log } = settled;
  known.set(name, { accountId, month, used, settledOffset, log });
  return settled;
}

/** Takes up counts of an events.raw; of one that was made anew under its name nothing is settled yet. */
export function takeUp(state: PartitionState, log: string): void {
  if (!isSameLog(state.log, log)) state.settledOffset = 0;
  if (log !== '') state.log = log;
}

/** Puts a partition's counters back, unless the checkpoint in Redis shows that it has them. Calls `progressed` as it goes on. */
export async function restoreIfLost(
  options: PartitionsOptions,
  partition: number,
  state: PartitionState,
  checkpoint: Checkpoint | undefined,
  progressed: () => void,
): Promise<void> {
  if (checkpoint?.generation === state.generation && checkpoint.nextOffset >= state.settledOffset) return;
  for (const [name, { month }] of state.known) if (options.isClosed(month)) state.known.delete(name);
  do await putBack(options, partition, state, progressed);
  while (!(await options.store.checkpoint(partition, state.settledOffset, state.generation)));
  if (state.settledOffset === 0) return;
  options.logger.warn({ partition, months: state.known.size }, 'counters were lost and are put back');
  options.onRestored(partition);
}

/** Accounts' months that are put back side by side. */
const MONTHS_AT_ONCE = 500;

async function putBack(
  { store, newGeneration }: PartitionsOptions,
  partition: number,
  state: PartitionState,
  progressed: () => void,
): Promise<void> {
  state.generation = newGeneration();
  await store.begin(partition, state.generation);
  const months = [...state.known.values()];
  for (let at = 0; at < months.length; at += MONTHS_AT_ONCE) {
    await Promise.all(
      months.slice(at, at + MONTHS_AT_ONCE).map(async ({ accountId, month, log }) => {
        await settleOne(store, { accountId, month, partition, log, ranges: [], newestMs: 0 }, state);
        await store.dropReservations({ accountId, month });
      }),
    );
    progressed();
  }
}
