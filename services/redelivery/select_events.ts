// Which events a replay sends: by the filter, and by what is known of their deliveries.
import type { Warehouse } from '#infra/clickhouse/client.ts';
import { type LedgerPosition, type LedgerRow, queryLedger } from '#infra/clickhouse/delivery_ledger.ts';
import type { ReadCounts } from '#pipelines/redelivery/replay.ts';
import { choose, isMeant, type Known, placeOf } from '#pipelines/redelivery/resend.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { Replay } from '#schemas/setting.ts';
import type { ReplayContext, Slice, Source } from './replay_source.ts';

/** A replay cannot be finished, whoever tries; it ends as failed. */
class ReplayFailedError extends Error {
  readonly code = 'too_many_letters';
}

export interface EventSelection {
  chosen: EncodedEvent[];
  counts: ReadCounts;
  /** Behind the slice. */
  next: number;
}

/** Events of dead letters that one reading tells apart, at about 100 bytes each. */
const PLACES_MAX = 500_000;

/**
 * Judges slices of one reading: which events are to be sent. Records before `done` were judged earlier; where the source
 * repeats events, their places are remembered, so that none is sent twice.
 */
export function createSelector(
  context: ReplayContext,
  replay: Replay,
  source: Source,
): (slice: Slice, done: number) => Promise<EventSelection> {
  const places = new Set<string>();
  const hasDestination = (siteId: string): boolean =>
    context.table.destination(siteId, replay.destination)?.enabled === true;

  function remember(views: readonly EncodedEvent[]): void {
    if (!source.repeats) return;
    for (const view of views) {
      const place = placeOf(view);
      if (place !== null) places.add(place);
    }
    if (places.size > PLACES_MAX) throw new ReplayFailedError(`more than ${PLACES_MAX} events in the range`);
  }

  return async ({ records }, done) => {
    const { past = [], fresh = [] } = Object.groupBy(records, ({ offset }) => (offset < done ? 'past' : 'fresh'));
    remember((await readViews(context, source, past)).views);
    const { views, unreadable } = await readViews(context, source, fresh);
    const meant = firstOfEach(
      views.filter(({ siteId }) => isMeant(replay, siteId, hasDestination)),
      places,
    );
    const known = replay.force ? new Map<string, Known>() : await knownOf(context.warehouse, replay.destination, meant);
    const { chosen, counts } = choose(meant, replay.force, known);
    remember(views);
    const next = Math.max(done, (records.at(-1)?.offset ?? -1) + 1);
    return { chosen, next, counts: { ...counts, unreadable } };
  };
}

async function readViews(
  { suppressed }: Pick<ReplayContext, 'suppressed'>,
  source: Source,
  records: Slice['records'],
): Promise<{ views: EncodedEvent[]; unreadable: number }> {
  const read = await Promise.all(records.map((record) => source.read(record)));
  const views = read.flatMap((one) => suppressed.kept(one.views, (view) => view));
  return { views, unreadable: read.filter(({ unreadable }) => unreadable).length };
}

/** The first of each event, where it did not come before. */
function firstOfEach(views: readonly EncodedEvent[], before: ReadonlySet<string>): EncodedEvent[] {
  const seen = new Set<string>();
  return views.filter((view) => {
    const place = placeOf(view);
    if (place === null) return true;
    const isNew = !before.has(place) && !seen.has(place);
    seen.add(place);
    return isNew;
  });
}

/** Places asked for at once: this bounds the question, the answer and the memory for both. */
const PLACES_PER_QUERY = 2_000;

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
  views: readonly EncodedEvent[],
): Promise<Map<string, Known>> {
  const known = new Map<string, Known>();
  for (let at = 0; at < views.length; at += PLACES_PER_QUERY) {
    const some = views.slice(at, at + PLACES_PER_QUERY);
    const rows = await queryLedger(warehouse, {
      destination,
      siteIds: [...new Set(some.map(({ siteId }) => siteId))],
      sinceMs: Math.min(...some.map(({ receivedAtMs }) => receivedAtMs)),
      places: some.flatMap(({ coordinate }): LedgerPosition[] => (coordinate === null ? [] : [coordinate])),
    });
    for (const row of rows) known.set(`${row.partition}/${row.offset}/${row.index}`, knownBy(row));
  }
  return known;
}
