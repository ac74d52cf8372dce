import type { EntryView } from '#schemas/event_batch.ts';
import type { QuotaCount } from '#schemas/records.ts';
import type { Reserved } from '#schemas/reserved.ts';
import { monthOf } from './month.ts';

/** One record of events.raw: what one request had for one partition. */
export interface RawRecord {
  offset: number;
  /** Null where no edge has said for whom it counts: it is counted for the account that has no name. */
  reserved: Reserved | null;
  views: readonly EntryView[];
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
