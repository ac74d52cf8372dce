import type { QuotaCounts } from '#schemas/records.ts';

/** What arrived under one hold: it is held no longer, whether it was unique or not. */
interface Arrived {
  hold: string;
  events: number;
}

/** What one stretch of a partition of events.raw adds to one account's month. */
export interface SettledStretch {
  /** Next offset behind the stretch. */
  nextOffset: number;
  unique: number;
  arrived: Arrived[];
}

/** Of a batch of quota.counts, in events. */
export interface CountedEvents {
  unique: number;
  duplicate: number;
  /** Unique ones that count for no account, as no edge has written them. */
  nobodys: number;
}

export function countedEvents(batch: readonly QuotaCounts[]): CountedEvents {
  const counted: CountedEvents = { unique: 0, duplicate: 0, nobodys: 0 };
  for (const { account_id, unique, duplicate } of batch.flatMap(({ counts }) => counts)) {
    counted.unique += unique;
    counted.duplicate += duplicate;
    if (account_id === '') counted.nobodys += unique;
  }
  return counted;
}

/** What was settled of one partition for one account's month, as far as it is known. */
export interface SettledUsage {
  used: number;
  /** Next offset of events.raw to settle. */
  settledOffset: number;
}

/** What a batch of quota.counts adds to one account's month. */
export interface Settlement {
  accountId: string;
  month: string;
  /** Partition of events.raw. */
  partition: number;
  stretches: SettledStretch[];
  newestMs: number;
}

export const NOTHING_SETTLED: SettledUsage = { used: 0, settledOffset: 0 };

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
export interface Mark {
  nextOffset: number;
  generation: string;
}

/** Where usage is counted, shared by all edges. Everything throws when it cannot be said what is counted. */
export interface QuotaStore {
  /**
   * Adds the stretches that lie behind what was settled, and releases what they held. `known` was settled before: where
   * the counter has less, it was lost and is put back first. Settling again adds nothing.
   */
  settle(settlement: Settlement, known: SettledUsage): Promise<Settled>;
  /** Begins a generation of a partition's counters; all that is known is to be put back in it before it is marked. */
  begin(partition: number, generation: string): Promise<void>;
  /**
   * Says that everything before an offset of a partition of events.raw is settled. False, and nothing said, where the
   * counters are of another generation or of none: then what was settled before was lost, and this mark would hide it.
   */
  mark(partition: number, nextOffset: number, generation: string): Promise<boolean>;
  /** The marks by partition; a counter that lost its data has none. */
  marks(): Promise<Map<number, Mark>>;
  /** Holds whose edge has not been heard of for its lease. */
  deadHolds(): Promise<string[]>;
  /** Gives back what is held under a hold in these months; answers how much that was. */
  giveBack(months: readonly AccountMonth[], hold: string): Promise<number>;
  /** Forgets all that is held in a month: after a loss nobody knows it any more. */
  dropHolds(month: AccountMonth): Promise<void>;
  /** Forgets a hold that holds nothing any more. */
  forgetHold(hold: string): Promise<void>;
}

/** Sums a batch of quota.counts, in its order, per account and month. What counts for nobody is left out. */
export function settlementsOf(batch: readonly QuotaCounts[]): Settlement[] {
  const settlements = new Map<string, Settlement>();
  for (const { partition, next_offset: nextOffset, counts } of batch) {
    for (const { account_id: accountId, month, hold, unique, duplicate, newest_at } of counts) {
      if (accountId === '') continue;
      const name = `${accountId} ${month}`;
      const settlement = settlements.get(name) ?? { accountId, month, partition, stretches: [], newestMs: 0 };
      settlements.set(name, settlement);
      settlement.newestMs = Math.max(settlement.newestMs, newest_at);
      const stretch = stretchOf(settlement, nextOffset);
      stretch.unique += unique;
      if (hold !== '') stretch.arrived.push({ hold, events: unique + duplicate });
    }
  }
  return [...settlements.values()];
}

function stretchOf({ stretches }: Settlement, nextOffset: number): SettledStretch {
  const last = stretches.at(-1);
  if (last?.nextOffset === nextOffset) return last;
  const fresh = { nextOffset, unique: 0, arrived: [] };
  stretches.push(fresh);
  return fresh;
}
