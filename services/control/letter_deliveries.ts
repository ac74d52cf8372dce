import { attemptsStatement } from '#infra/clickhouse/queries/event_trace_statements.ts';
import {
  type LetterOutcomeRow,
  letterOutcomesStatement,
  type OutcomePlace,
} from '#infra/clickhouse/queries/letter_outcomes_statement.ts';
import { ALL_SITES } from '#infra/clickhouse/query_ids.ts';
import type { ResendRules, ShownLetter } from '#infra/dead_letters/dead_letter_store.ts';
import { type EventOutcome, type LetterDelivery, letterDelivery } from '#pipelines/letter_state.ts';
import type { AttemptRow } from '#pipelines/query/delivery_trace.ts';
import { placeOf } from '#pipelines/replay/choose.ts';
import { isReplayed } from '#pipelines/replay/progress.ts';
import type { EntryView } from '#schemas/event_batch.ts';
import type { AttemptItem } from '#services/control_api/attempt_shapes.ts';
import { attemptItem } from './newest_attempts.ts';
import type { Sources, World } from './route.ts';

/** What is known of letters of deliveries since they died, by their ids; other letters have none. */
export type LetterDeliveries = ReadonlyMap<string, LetterDelivery>;

/** Clocks of different machines may differ by this. */
const CLOCK_MARGIN_MS = 3_600_000;
/** Events asked for at once, so that the statement stays below what ClickHouse reads. */
const PLACES_MAX = 2_000;
/** Equal questions of one second share an answer. */
const KEPT_MS = 1_000;
const ATTEMPTS_SHOWN_MAX = 20;

type Asking = Pick<Sources, 'queries' | 'asker'>;

/** What became of the events of deliveries' letters since. */
export async function deliveriesOf(letters: readonly ShownLetter[], sources: Asking): Promise<LetterDeliveries> {
  const ofDelivery = letters.filter(({ letter, views }) => letter.stage === 'delivery' && (views?.length ?? 0) > 0);
  const events = ofDelivery.flatMap(({ letter, views }) => placesOf(letter.destination ?? '', views ?? []));
  const known = await outcomesOf(events, sources, KEPT_MS);
  return new Map(
    ofDelivery.map(({ id, letter, views }) => [
      id,
      known === null
        ? 'unknown'
        : letterDelivery(
            (views ?? []).map((view) => known.get(keyOfEvent(letter.destination ?? '', view))),
            letter.died_at,
          ),
    ]),
  );
}

/** An event whose outcomes are asked for. */
interface AskedEvent {
  place: OutcomePlace;
  receivedAtMs: number;
}

/** The events at a destination that have a place in the ledger. */
function placesOf(destination: string, views: readonly EntryView[]): AskedEvent[] {
  return views.flatMap(({ siteId, eventId, coordinate, receivedAtMs }) =>
    coordinate === null ? [] : [{ place: { siteId, eventId, destination, ...coordinate }, receivedAtMs }],
  );
}

/** By which an event at a destination is found among outcomes. */
function keyOfEvent(destination: string, { siteId, coordinate }: EntryView): string {
  const { partition = -1, offset = -1, index = -1 } = coordinate ?? {};
  return [siteId, destination, partition, offset, index].join('/');
}

/** The outcomes of events by their keys; null where ClickHouse does not answer. */
async function outcomesOf(
  events: readonly AskedEvent[],
  { queries, asker }: Asking,
  keptMs: number,
): Promise<Map<string, EventOutcome> | null> {
  const known = new Map<string, EventOutcome>();
  for (let at = 0; at < events.length; at += PLACES_MAX) {
    const some = events.slice(at, at + PLACES_MAX);
    const sinceMs = some.reduce((least, { receivedAtMs }) => Math.min(least, receivedAtMs), Number.POSITIVE_INFINITY);
    const statement = letterOutcomesStatement(
      some.map(({ place }) => place),
      Math.max(0, sinceMs - CLOCK_MARGIN_MS),
    );
    const answered = await queries.answer(
      {
        ...{ kind: 'ask', siteId: ALL_SITES, about: 'letters', asked: { rows_of: 'letters' }, reads: null },
        ...{ isShared: false, statement, keptMs, answer: (rows) => ({ rows }) },
      },
      asker,
    );
    if (!answered.ok) return null;
    for (const row of (answered.body as { rows: LetterOutcomeRow[] }).rows) {
      const { site_id, destination, p, o, i, delivered, latest, latest_at } = row;
      known.set([site_id, destination, p, o, i].join('/'), {
        delivered: delivered === 1,
        latest,
        latestAtMs: latest_at,
      });
    }
  }
  return known;
}

/** The attempts to deliver the only event of a delivery's letter, the newest first; null where they are not known. */
export async function attemptsOf(
  { letter, views }: ShownLetter,
  { queries, asker }: Asking,
): Promise<AttemptItem[] | null> {
  const [event] = views ?? [];
  if (letter.stage !== 'delivery' || event === undefined || views?.length !== 1) return null;
  const answered = await queries.answer(
    {
      ...{ kind: 'ask', siteId: event.siteId, about: 'letters', asked: { rows_of: 'attempts' }, reads: null },
      ...{ isShared: false, statement: attemptsStatement(event.siteId, event.eventId), keptMs: KEPT_MS },
      answer: (rows) => ({ rows }),
    },
    asker,
  );
  if (!answered.ok) return null;
  return (answered.body as { rows: AttemptRow[] }).rows
    .filter(({ destination }) => destination === letter.destination)
    .slice(0, ATTEMPTS_SHOWN_MAX)
    .map(({ destination: _destination, received: _received, ...row }) =>
      attemptItem({ ...row, event_id: event.eventId, event: event.name }),
    );
}

/** What the settings, replays and ClickHouse know of letters that are to be resent. */
export function resendRules(sources: Sources, world: World): ResendRules {
  return {
    accountOf: (siteId) => world.view.table.site(siteId)?.account_id ?? '',
    hasDestination: (siteId, destination) => world.view.table.destination(siteId, destination)?.enabled === true,
    async isReplayed(destination) {
      const known = await sources.replaysNow();
      const now = sources.now();
      // Whoever may not ask any more is told to come again, and refused then.
      return 'kind' in now || isReplayed(now.view.table.replays(), known, destination);
    },
    async outcomesOf(destination, views) {
      const found = await outcomesOf(placesOf(destination, views), sources, 0);
      if (found === null) return null;
      return new Map(
        views.flatMap((view) => {
          const [place, outcome] = [placeOf(view), found.get(keyOfEvent(destination, view))];
          return place === null || outcome === undefined ? [] : [[place, outcome] as const];
        }),
      );
    },
  };
}
