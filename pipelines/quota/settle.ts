import type { EntryView } from '#schemas/event_batch.ts';

/** Unique events of one account and month in one record of events.unique. */
export interface SettledRecord {
  offset: number;
  count: number;
}

/** What one batch of a partition of events.unique adds to one account's month. */
export interface Settlement {
  accountId: string;
  month: string;
  partition: number;
  records: SettledRecord[];
  newestMs: number;
}

/** What the counter holds after a settlement, for one partition. */
export interface SettledUsage {
  /** Of this partition. */
  used: number;
  /** Next offset to settle. */
  settledOffset: number;
}

export interface QuotaStore {
  /**
   * Adds what lies at or behind the partition's settled offset and moves it on; what was settled before is not added
   * again. Answers in the order given.
   */
  settle(settlements: readonly Settlement[]): Promise<SettledUsage[]>;
}

/** UTC month of a time, YYYY-MM. */
export function monthOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 7);
}

export interface UniqueRecord {
  offset: number;
  views: readonly EntryView[];
}

/** Sums a batch of one partition per account and month of arrival. Events of sites without an account are left out. */
export function settlementsOf(
  records: readonly UniqueRecord[],
  partition: number,
  accountOfSite: (siteId: string) => string | undefined,
): Settlement[] {
  const settlements = new Map<string, Settlement>();
  for (const { offset, views } of records) {
    for (const { siteId, receivedAtMs } of views) {
      const accountId = accountOfSite(siteId);
      if (accountId !== undefined) add(settlements, accountId, monthOf(receivedAtMs), partition, offset, receivedAtMs);
    }
  }
  return [...settlements.values()];
}

function add(
  settlements: Map<string, Settlement>,
  accountId: string,
  month: string,
  partition: number,
  offset: number,
  receivedAtMs: number,
): void {
  const name = `${accountId}/${month}`;
  const settlement = settlements.get(name) ?? { accountId, month, partition, records: [], newestMs: 0 };
  settlements.set(name, settlement);
  settlement.newestMs = Math.max(settlement.newestMs, receivedAtMs);
  const last = settlement.records.at(-1);
  if (last?.offset === offset) last.count++;
  else settlement.records.push({ offset, count: 1 });
}
