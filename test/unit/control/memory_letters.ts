import type { DeadLetterStore, DeadLetterView } from '#infra/redelivery/dead_letter_store.ts';
import { type DeadLetterPosition, deadLetterId } from '#pipelines/redelivery/dead_letter.ts';
import { isInState, type MarkOutcome, type ResendOutcome, refusedAsIs } from '#pipelines/redelivery/resend.ts';
import type { DeadLetter } from '#schemas/records.ts';

/** Dead letters in memory, which can be told to fail. */
export interface MemoryDeadLetters extends DeadLetterStore {
  deadLetters: DeadLetterView[];
  failure: Error | null;
  /** Accounts that events were sent in for. */
  accounts: string[];
}

export function memoryDeadLetters(nowMs: () => number): MemoryDeadLetters {
  const find = (id: string): DeadLetterView | undefined => store.deadLetters.find((one) => one.id === id);
  const outcomeOf = (found: DeadLetterView | undefined): ResendOutcome => {
    if (found === undefined) return 'unknown';
    if (found.resentAtMs !== null) return 'resent_before';
    return refusedAsIs(found.deadLetter) ?? (found.views === null ? 'unreadable' : 'resent');
  };
  const store: MemoryDeadLetters = {
    deadLetters: [],
    failure: null,
    accounts: [],
    async list({ stage, reason, state, after, limit }) {
      if (store.failure !== null) throw store.failure;
      const from = after === null ? 0 : store.deadLetters.findIndex(({ id }) => id === deadLetterId(after)) + 1;
      const rest = store.deadLetters.slice(from);
      const deadLetters = rest
        .filter(
          ({ deadLetter }) =>
            (stage ?? deadLetter.stage) === deadLetter.stage && (reason ?? deadLetter.reason) === deadLetter.reason,
        )
        .filter((one) => state === null || isInState(one, state))
        .slice(0, limit);
      return { deadLetters, next: deadLetters.length === limit ? (deadLetters.at(-1)?.place ?? null) : null };
    },
    async read(places) {
      if (store.failure !== null) throw store.failure;
      return [...new Set(places.map(deadLetterId))].flatMap((id) => find(id) ?? []);
    },
    async ofEvent(siteId, eventId) {
      if (store.failure !== null) throw store.failure;
      return store.deadLetters.filter(({ views }) =>
        views?.some((view) => view.siteId === siteId && view.eventId === eventId),
      );
    },
    async resend(places, { accountOf }) {
      if (store.failure !== null) throw store.failure;
      return new Map(
        places.map((place) => {
          const found = find(deadLetterId(place));
          const outcome = outcomeOf(found);
          if (found !== undefined && outcome === 'resent') {
            found.resentAtMs = nowMs();
            store.accounts.push(...(found.views ?? []).map(({ siteId }) => accountOf(siteId)));
          }
          return [deadLetterId(place), outcome] as const;
        }),
      );
    },
    resolve: async (places, note, by) =>
      marked(places, (found) => {
        found.resolution = { note, by, atMs: nowMs() };
        return 'resolved';
      }),
    reopen: async (places) =>
      marked(places, (found) => {
        const outcome = found.resolution === null ? 'not_resolved' : 'reopened';
        found.resolution = null;
        return outcome;
      }),
  };
  const marked = (
    places: readonly DeadLetterPosition[],
    mark: (found: DeadLetterView) => MarkOutcome,
  ): Map<string, MarkOutcome> => {
    if (store.failure !== null) throw store.failure;
    return new Map(
      places.map((place) => {
        const found = find(deadLetterId(place));
        return [deadLetterId(place), found === undefined ? 'unknown' : mark(found)];
      }),
    );
  };
  return store;
}

/** A dead letter of dedup with one event of a shop in it, but for what is given. */
export function shownDeadLetter(
  offset: number,
  deadLetter: Partial<DeadLetter> = {},
  isReadable = true,
): DeadLetterView {
  const stage = deadLetter.stage ?? 'dedup';
  const place = { stage, partition: 0, offset };
  const empty = Buffer.alloc(0);
  const view = {
    ...{ coordinate: null, personBytes: empty, eventBytes: empty },
    ...{ siteId: 'shop', eventId: `event-${offset}`, distinctId: 'visitor', receivedAtMs: 1, name: 'page_view' },
  };
  const bytes = Buffer.from('what died');
  const dead: DeadLetter = {
    ...{
      stage,
      reason: 'transform_failed',
      detail: 'TypeError',
      topic: 'events.raw',
      partition: 1,
      offset: 70,
      index: 0,
    },
    ...{ died_at: 5, bytes_total: bytes.length, bytes },
    ...deadLetter,
  };
  return {
    id: deadLetterId(place),
    place,
    deadLetter: dead,
    resentAtMs: null,
    resolution: null,
    views: isReadable ? [view] : null,
  };
}
