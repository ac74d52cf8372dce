import type { Warehouse } from '#infra/clickhouse/client.ts';
import { askLedger, type LedgerPlace, type LedgerRow } from '#infra/clickhouse/delivery_ledger.ts';
import type { Known } from '#pipelines/replay/choose.ts';
import type { EntryView } from '#schemas/event_batch.ts';

/** Places asked for at once: this bounds the question, the answer and the memory for both. */
const PLACES_MAX = 2_000;

/** Outcomes after which an event waits on a lane. */
const PENDING: ReadonlySet<string> = new Set(['diverted', 'paused']);

function knownBy({ delivered, latest }: LedgerRow): Known {
  if (delivered) return 'delivered';
  if (PENDING.has(latest)) return 'pending';
  return latest === 'skipped' ? 'skipped' : 'open';
}

/** What the outcomes say of events at a destination, by their places. @throws WarehouseError */
export async function knownOf(
  warehouse: Warehouse,
  destination: string,
  views: readonly EntryView[],
): Promise<Map<string, Known>> {
  const known = new Map<string, Known>();
  for (let at = 0; at < views.length; at += PLACES_MAX) {
    const some = views.slice(at, at + PLACES_MAX);
    const rows = await askLedger(warehouse, {
      destination,
      siteIds: [...new Set(some.map(({ siteId }) => siteId))],
      sinceMs: Math.min(...some.map(({ receivedAtMs }) => receivedAtMs)),
      places: some.flatMap(({ coordinate }): LedgerPlace[] => (coordinate === null ? [] : [coordinate])),
    });
    for (const row of rows) known.set(`${row.partition}/${row.offset}/${row.index}`, knownBy(row));
  }
  return known;
}
