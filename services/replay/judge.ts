import { choose, isMeant, type Known, placeOf } from '#pipelines/replay/choose.ts';
import type { ReadCounts } from '#pipelines/replay/progress.ts';
import type { EntryView } from '#schemas/event_batch.ts';
import type { Replay } from '#schemas/setting.ts';
import { knownOf } from './known_outcomes.ts';
import type { Slice } from './reading.ts';
import type { ReplayContext } from './run_context.ts';
import type { Source } from './source.ts';

/** A replay cannot be finished, whoever tries; it ends as failed. */
class ReplayFailedError extends Error {
  readonly code = 'too_many_letters';
}

export interface Judgement {
  chosen: EntryView[];
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
export function createJudge(
  context: ReplayContext,
  replay: Replay,
  source: Source,
): (slice: Slice, done: number) => Promise<Judgement> {
  const places = new Set<string>();
  const hasDestination = (siteId: string): boolean =>
    context.table.destination(siteId, replay.destination)?.enabled === true;

  function remember(views: readonly EntryView[]): void {
    if (!source.repeats) return;
    for (const view of views) {
      const place = placeOf(view);
      if (place !== null) places.add(place);
    }
    if (places.size > PLACES_MAX) throw new ReplayFailedError(`more than ${PLACES_MAX} events in the range`);
  }

  return async ({ records }, done) => {
    const past = await readViews(
      source,
      records.filter(({ offset }) => offset < done),
    );
    remember(past.views);
    const { views, unreadable } = await readViews(
      source,
      records.filter(({ offset }) => offset >= done),
    );
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
  source: Source,
  records: Slice['records'],
): Promise<{ views: EntryView[]; unreadable: number }> {
  const read = await Promise.all(records.map((record) => source.read(record)));
  return { views: read.flatMap(({ views }) => views), unreadable: read.filter(({ unreadable }) => unreadable).length };
}

/** The first of each event, where it did not come before. */
function firstOfEach(views: readonly EntryView[], before: ReadonlySet<string>): EntryView[] {
  const seen = new Set<string>();
  return views.filter((view) => {
    const place = placeOf(view);
    if (place === null) return true;
    const isNew = !before.has(place) && !seen.has(place);
    seen.add(place);
    return isNew;
  });
}
