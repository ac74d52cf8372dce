// Which events of what a replay reads it sends: those that are meant, once each, and that the outcomes do not say to be delivered.

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

export interface SelectorContext extends Pick<ReplayContext, 'suppressed'> {
  table: Pick<ReplayContext['table'], 'destination'>;
  warehouse: Pick<Warehouse, 'query'>;
}

export interface EventSelection {
  chosen: EncodedEvent[];
  counts: ReadCounts;
  /** Behind the slice. */
  next: number;
}

const NOTHING_KNOWN: ReadonlyMap<string, Known> = new Map();
/** Events of dead letters that one reading tells apart, at about 100 bytes each. */
const PLACES_MAX = 500_000;

/**
 * Judges slices of one reading: which events are to be sent. Records before `done` were judged earlier; where the source
 * repeats events, their places are remembered, so that none is sent twice.
 */
export function createEventSelector(
  context: SelectorContext,
  replay: Replay,
  source: Source,
): (slice: Slice, done: number) => Promise<EventSelection> {
  const places = new Set<string>();
  /** What the outcomes said last of events of each partition, and of which they were asked. */
  const answers = new Map<number, { asked: ReadonlySet<string>; known: ReadonlyMap<string, Known> }>();
  // One of the id that was made since is not the one that was meant.
  const hasDestination = (siteId: string): boolean => {
    const found = context.table.destination(siteId, replay.destination);
    return found?.enabled === true && (found.created_at ?? 0) <= replay.created_at;
  };

  function remember(views: readonly EncodedEvent[]): void {
    if (!source.repeats) return;
    for (const view of views) {
      const place = placeOf(view);
      if (place !== null) places.add(place);
    }
    if (places.size > PLACES_MAX) throw new ReplayFailedError(`more than ${PLACES_MAX} events in the range`);
  }

  const isWanted = (view: EncodedEvent): boolean => isMeant(replay, view, hasDestination);

  /**
   * Asks once for a slice and what is ahead of it. Until those are slices themselves nothing else sends their events: delivery has
   * passed them, and replays to a kind of destination have their turns one after the other. What was not wanted yet, as its site
   * had no such destination, is asked for again.
   */
  async function knownOfAll(meant: readonly EncodedEvent[], { partition, records, ahead }: Slice) {
    const answer = answers.get(partition);
    const isAsked = (view: EncodedEvent): boolean => answer?.asked.has(placeOf(view) ?? '') ?? false;
    if (answer !== undefined && meant.every(isAsked)) return answer.known;
    const { views, diedAtMs } = await readViews(context, source, [...records, ...ahead]);
    const wanted = views.filter(isWanted);
    const known = await knownOf(context.warehouse, replay.destination, wanted, diedAtMs);
    answers.set(partition, { asked: new Set(wanted.map((view) => placeOf(view) ?? '')), known });
    return known;
  }

  return async (slice, done) => {
    const { records } = slice;
    const { past = [], fresh = [] } = Object.groupBy(records, ({ offset }) => (offset < done ? 'past' : 'fresh'));
    remember((await readViews(context, source, past)).views);
    const { views, unreadable } = await readViews(context, source, fresh);
    const meant = firstOfEach(views.filter(isWanted), places);
    const known = replay.force || meant.length === 0 ? NOTHING_KNOWN : await knownOfAll(meant, slice);
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
): Promise<{ views: EncodedEvent[]; unreadable: number; diedAtMs: Map<string, number> }> {
  const read = await Promise.all(records.map((record) => source.read(record)));
  const views = read.flatMap((one) => suppressed.kept(one.views, (view) => view));
  const diedAtMs = new Map<string, number>();
  for (const { views: dead, diedAtMs: atMs } of read) {
    for (const place of atMs === undefined ? [] : dead.map(placeOf)) {
      if (place !== null) diedAtMs.set(place, Math.max(atMs ?? 0, diedAtMs.get(place) ?? 0));
    }
  }
  return { views, unreadable: read.filter(({ unreadable }) => unreadable).length, diedAtMs };
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

/** Outcomes after which an event waits on a retry topic. */
const PENDING: ReadonlySet<string> = new Set(['diverted', 'paused']);

/** @param diedAtMs When its dead letter was written: what has no outcome of its own waits nowhere since. */
function knownBy({ delivered, latest, latestAtMs }: LedgerRow, diedAtMs = Number.NEGATIVE_INFINITY): Known {
  if (delivered) return 'delivered';
  if (PENDING.has(latest)) return latestAtMs > diedAtMs ? 'pending' : 'open';
  return latest === 'skipped' ? 'skipped' : 'open';
}

/**
 * What the outcomes say of events at a destination, by their places.
 *
 * @param diedAtMs When dead letters of some were written, by their places.
 * @throws WarehouseError
 */
export async function knownOf(
  warehouse: Pick<Warehouse, 'query'>,
  destination: string,
  views: readonly EncodedEvent[],
  diedAtMs: ReadonlyMap<string, number> = new Map(),
): Promise<Map<string, Known>> {
  const known = new Map<string, Known>();
  for (let at = 0; at < views.length; at += PLACES_PER_QUERY) {
    const some = views.slice(at, at + PLACES_PER_QUERY);
    const arrivals = some.map(({ receivedAtMs }) => receivedAtMs);
    const rows = await queryLedger(warehouse, {
      destination,
      siteIds: [...new Set(some.map(({ siteId }) => siteId))],
      arrived: { firstMs: Math.min(...arrivals), lastMs: Math.max(...arrivals) },
      places: some.flatMap(({ coordinate }): LedgerPosition[] => (coordinate === null ? [] : [coordinate])),
    });
    for (const row of rows) {
      const place = `${row.partition}/${row.offset}/${row.index}`;
      known.set(place, knownBy(row, diedAtMs.get(place)));
    }
  }
  return known;
}
