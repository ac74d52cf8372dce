import type { QuotaCounts } from '#schemas/records.ts';

/** What arrived under one lease: it is held no longer, whether it was unique or not. */
interface Arrived {
  lease: string;
  events: number;
}

/** What one range of a partition of events.raw adds to one account's month. */
export interface SettledRange {
  /** Next offset behind the range. */
  nextOffset: number;
  unique: number;
  arrived: Arrived[];
}

/** Of a batch of quota.counts, in events. */
export interface CountedEvents {
  unique: number;
  duplicate: number;
  /** Unique ones that count for no account, as no edge has written them. */
  withoutAccount: number;
}

export function countedEvents(batch: readonly QuotaCounts[]): CountedEvents {
  const counted: CountedEvents = { unique: 0, duplicate: 0, withoutAccount: 0 };
  for (const { account_id, unique, duplicate } of batch.flatMap(({ counts }) => counts)) {
    counted.unique += unique;
    counted.duplicate += duplicate;
    if (account_id === '') counted.withoutAccount += unique;
  }
  return counted;
}

/** What was settled of one partition for one account's month, as far as it is known. */
export interface SettledUsage {
  used: number;
  /** Next offset of events.raw to settle. */
  settledOffset: number;
  /** The id of the events.raw that the offset is of; empty where it is not known. */
  log: string;
}

/** What a batch of quota.counts adds to one account's month. */
export interface Settlement {
  accountId: string;
  month: string;
  /** Partition of events.raw. */
  partition: number;
  /** The id of the events.raw that the ranges are of; empty where it is not known. */
  log: string;
  ranges: SettledRange[];
  newestMs: number;
}

export const NOTHING_SETTLED: SettledUsage = { used: 0, settledOffset: 0, log: '' };

/** What the counter holds after a settlement. */
export interface Settled extends SettledUsage {
  /** Reserved events that are held no longer. */
  released: number;
}

/** An account's month. */
export interface AccountMonth {
  accountId: string;
  month: string;
}

/** Up to where a partition of events.raw is settled, in which generation of its counters. */
export interface Checkpoint {
  nextOffset: number;
  generation: string;
}

/** Where usage is counted, shared by all edges. Everything throws when it cannot be said what is counted. */
export interface QuotaStore {
  /**
   * Adds the ranges that lie behind what was settled, and releases what they held. `known` was settled before: where
   * the counter has less, it was lost and is put back first. Settling again adds nothing. Offsets of an events.raw that
   * was made anew under its name are others: what was settled before counts, and none of the new ranges was settled.
   */
  settle(settlement: Settlement, known: SettledUsage): Promise<Settled>;
  /** Begins a generation of a partition's counters; all that is known is to be put back in it before it is checkpointed. */
  begin(partition: number, generation: string): Promise<void>;
  /**
   * Says that everything before an offset of a partition of events.raw is settled. False, and nothing said, where the
   * counters are of another generation or of none: then what was settled before was lost, and this checkpoint would hide it.
   */
  checkpoint(partition: number, nextOffset: number, generation: string): Promise<boolean>;
  /** The checkpoints by partition; a counter that lost its data has none. */
  checkpoints(): Promise<Map<number, Checkpoint>>;
  /** ReservationLeases whose edge has not been heard of for its lease. */
  deadLeases(): Promise<string[]>;
  /** Gives back what is held under a lease in these months; answers how much that was. */
  giveBack(months: readonly AccountMonth[], lease: string): Promise<number>;
  /** Forgets all that is held in a month: after a loss nobody knows it any more. */
  dropReservations(month: AccountMonth): Promise<void>;
  /** Forgets a lease that holds nothing any more. */
  forgetLease(lease: string): Promise<void>;
}

/** Whether two offsets are of the same events.raw, as far as is known. */
export function isSameLog(one: string, other: string): boolean {
  return one === '' || other === '' || one === other;
}

/** A batch of quota.counts as stretches, each of one events.raw; at least one, which may be empty. */
export function byLog(batch: readonly QuotaCounts[]): QuotaCounts[][] {
  const stretches: QuotaCounts[][] = [[]];
  for (const one of batch) {
    const last = stretches.at(-1);
    if (last?.[0] === undefined || last[0].log === one.log) last?.push(one);
    else stretches.push([one]);
  }
  return stretches;
}

/** Sums counts of one events.raw, in their order, per account and month. What counts for nobody is left out. */
export function settlementsOf(batch: readonly QuotaCounts[]): Settlement[] {
  const settlements = new Map<string, Settlement>();
  for (const { partition, next_offset: nextOffset, log, counts } of batch) {
    for (const { account_id: accountId, month, hold: lease, unique, duplicate, newest_at } of counts) {
      if (accountId === '') continue;
      const name = `${accountId} ${month}`;
      const settlement = settlements.get(name) ?? { accountId, month, partition, log, ranges: [], newestMs: 0 };
      settlements.set(name, settlement);
      settlement.newestMs = Math.max(settlement.newestMs, newest_at);
      const range = rangeOf(settlement, nextOffset);
      range.unique += unique;
      if (lease !== '') range.arrived.push({ lease, events: unique + duplicate });
    }
  }
  return [...settlements.values()];
}

function rangeOf({ ranges }: Settlement, nextOffset: number): SettledRange {
  const last = ranges.at(-1);
  if (last?.nextOffset === nextOffset) return last;
  const fresh = { nextOffset, unique: 0, arrived: [] };
  ranges.push(fresh);
  return fresh;
}
