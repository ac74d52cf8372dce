// Quota: what a partition has used, settled once, and leases of edges that are gone.
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { QuotaCount, QuotaCounts } from '#schemas/records.ts';
import type { Reserved } from '#schemas/wire.ts';
import { monthOf } from './limits.ts';

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
interface CountedEvents {
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
  /** Leases whose edge has not been heard of for as long as they last. */
  expiredLeases(): Promise<string[]>;
  /** Gives back what is held under a lease in these months; answers how much that was. */
  releaseUnused(months: readonly AccountMonth[], lease: string): Promise<number>;
  /** Forgets all that is held in a month: after a loss nobody knows it any more. */
  dropReservations(month: AccountMonth): Promise<void>;
  /** Forgets a lease that holds nothing any more. */
  forgetLease(lease: string): Promise<void>;
}

/** Whether two offsets are of the same events.raw, as far as is known. */
export function isSameTopic(one: string, other: string): boolean {
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

/** One record of events.raw: what one request had for one partition. */
interface RawRecord {
  offset: number;
  /** Null where no edge has said for whom it counts: it is counted for the account that has no name. */
  reserved: Reserved | null;
  views: readonly EncodedEvent[];
}

const NOBODY: Reserved = { accountId: '', lease: '' };

/** How many events of a record passed and how many were duplicates, summed by account, month of arrival and lease. */
export function countsOf(
  records: readonly RawRecord[],
  passed: readonly { readonly recordOffset: number }[],
): QuotaCount[] {
  const uniques = new Map<number, number>();
  for (const { recordOffset } of passed) uniques.set(recordOffset, (uniques.get(recordOffset) ?? 0) + 1);
  const counts = new Map<string, QuotaCount>();
  for (const record of records) add(counts, record, uniques);
  return [...counts.values()];
}

function add(
  counts: Map<string, QuotaCount>,
  { offset, reserved, views }: RawRecord,
  uniques: ReadonlyMap<number, number>,
): void {
  // A request's events arrived together.
  const arrivedMs = views[0]?.receivedAtMs;
  if (arrivedMs === undefined) return;
  const month = monthOf(arrivedMs);
  const { accountId, lease } = reserved ?? NOBODY;
  const name = `${accountId} ${month} ${lease}`;
  let count = counts.get(name);
  if (count === undefined) {
    count = { account_id: accountId, month, hold: lease, unique: 0, duplicate: 0, newest_at: 0 };
    counts.set(name, count);
  }
  const unique = uniques.get(offset) ?? 0;
  count.unique += unique;
  count.duplicate += views.length - unique;
  count.newest_at = Math.max(count.newest_at, arrivedMs);
}

/** What is asked before a dead edge's lease is given back. */
interface LostLeasesPorts {
  /** Leases whose edge has not been heard of for as long as they last. */
  expiredLeases(): Promise<string[]>;
  /** Offsets at which the partitions of events.raw end now. */
  rawEnds(): Promise<ReadonlyMap<number, number>>;
  /** Up to which offset each partition of events.raw is settled. */
  settled(): Promise<ReadonlyMap<number, number>>;
  /** Gives back what a lease still holds. */
  releaseUnused(lease: string): Promise<void>;
}

/**
 * Finds what dead edges reserved and never produced. An edge whose lease is over produces no more: what it did produce
 * stands before the ends of events.raw taken after that. Once everything before those ends is settled, whatever its lease
 * still holds never arrived. However far the pipelines lag behind, that only makes this wait longer.
 *
 * Answers a function for one look, to be called again and again by one caller.
 */
export function createLostLeases(ports: LostLeasesPorts): () => Promise<void> {
  const endsAtDeath = new Map<string, ReadonlyMap<number, number>>();
  return async () => {
    const dead = new Set(await ports.expiredLeases());
    for (const lease of endsAtDeath.keys()) if (!dead.has(lease)) endsAtDeath.delete(lease);
    if (dead.size === 0) return;
    const settled = await ports.settled();
    for (const [lease, ends] of endsAtDeath) {
      if (!isBehind(settled, ends)) continue;
      await ports.releaseUnused(lease);
      endsAtDeath.delete(lease);
      dead.delete(lease);
    }
    const fresh = [...dead].filter((lease) => !endsAtDeath.has(lease));
    if (fresh.length === 0) return;
    const ends = await ports.rawEnds();
    for (const lease of fresh) endsAtDeath.set(lease, ends);
  };
}

/** Whether everything before the ends is settled. A partition that holds nothing has nothing to settle. */
function isBehind(settled: ReadonlyMap<number, number>, ends: ReadonlyMap<number, number>): boolean {
  return [...ends].every(([partition, end]) => (settled.get(partition) ?? 0) >= end);
}
