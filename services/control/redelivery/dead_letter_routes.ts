// Dead letters: listed and shown with what became of them since, sent in again, resolved, reopened.

import { hash } from 'node:crypto';
import type { Static } from 'typebox';
import { ALL_SITES, type QueryCaller } from '#infra/clickhouse/queries/running_queries.ts';
import type { DeadLetterStore, DeadLetterView, ResendRules } from '#infra/redelivery/dead_letter_store.ts';
import {
  type DeadLetterOutcomeRow,
  deadLetterOutcomesStatement,
  type OutcomePlace,
} from '#pipelines/analytics/delivery_outcomes.ts';
import { type AttemptRow, attemptsStatement } from '#pipelines/analytics/event_trace/trace.ts';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import {
  type DeadLetterPosition,
  deadLetterId,
  isOfDelivery,
  parseDeadLetterId,
} from '#pipelines/redelivery/dead_letter.ts';
import { isReplayed } from '#pipelines/redelivery/replay.ts';
import * as resending from '#pipelines/redelivery/resend.ts';
import type { Permission } from '#pipelines/settings/access.ts';
import { problem } from '#pipelines/settings/problems.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { AttemptItem } from '#services/control_api/destinations.ts';
import { pageOf } from '#services/control_api/fields.ts';
import * as api from '#services/control_api/redelivery.ts';
import { attemptItem } from '../destinations/delivery.ts';
import { createQueryGate } from '../queries/answers.ts';
import {
  type ControlServices,
  type GatheredAnswer,
  ofListed,
  type RequestContext,
  refused,
  resource,
  route,
  rowsOf,
} from '../route.ts';

const base = '/v1/admin/dead-letters';
const LIMIT = 100;
const EVENTS_SHOWN_MAX = 100;
/** What may come of asking for dead letters. */
const READING_ERRORS = ['dead_letters_unavailable', 'query_busy', 'query_cancelled'] as const;
/** Equal questions of one second share an answer. */
const OUTCOMES_KEPT_MS = 1_000;

/** Clocks of different machines may differ by this. */
const CLOCK_MARGIN_MS = 3_600_000;
/** Events asked for at once, so that the statement stays below what ClickHouse reads. */
const PLACES_MAX = 2_000;

export const deadLetterRoutes = resource('Dead letters', [
  route('GET', base, 'listDeadLetters', {
    access: ofListed('dead_letters.read'),
    summary: 'List dead letters, by stage and partition, oldest first; a page may be short and yet not the last',
    query: api.deadLetterQuery,
    success: { status: 200, schema: pageOf(api.deadLetterSchema), description: 'Dead letters, without what they hold' },
    errors: READING_ERRORS,
    gather: ({ query }, sources, world) => listDeadLetters(query, sources, world),
  }),
  route('GET', `${base}/{letter_id}`, 'getDeadLetter', {
    access: ofListed('dead_letters.read'),
    summary: 'Show a dead letter: whose events it holds, or the size and digest of what cannot be read',
    params: api.deadLetterParams,
    success: { status: 200, schema: api.deadLetterDetails, description: 'The dead letter' },
    errors: ['dead_letter_unknown', ...READING_ERRORS],
    gather: ({ params: { letter_id } }, sources, world) => showDeadLetter(letter_id, sources, world),
  }),
  route('POST', `${base}/resend`, 'resendDeadLetters', {
    access: ofListed('dead_letters.change'),
    summary:
      'Send dead letters in again, those of deliveries to their destination: each once, however often it is requested',
    body: api.deadLettersBody,
    success: { status: 200, schema: api.resendShape, description: 'What became of each' },
    errors: [...READING_ERRORS, 'settings_not_stored'],
    gather: ({ body }, sources) =>
      changeDeadLetters(body.ids, sources, {
        noted: (resend) => ({ resend }),
        change: (own, world) => sources.deadLetters.resend(own, resendRules(sources, world)),
      }),
  }),
  route('POST', `${base}/resolve`, 'resolveDeadLetters', {
    access: ofListed('dead_letters.change'),
    summary: 'Note why nothing more is to be done about dead letters of any stage, so that they are open no more',
    body: api.resolveBody,
    success: { status: 200, schema: api.resolveShape, description: 'What became of each' },
    errors: [...READING_ERRORS, 'settings_not_stored'],
    async gather({ body: { ids, note: sent } }, sources) {
      const note = sent.trim();
      if (holdsPersonalText(note)) {
        const message = 'holds an e-mail address or a phone number';
        return refused('settings_invalid', [problem('personal_text', 'note', message)]);
      }
      return changeDeadLetters(ids, sources, {
        noted: (resolve) => ({ resolve, note }),
        change: (own, { principal }) => sources.deadLetters.resolve(own, note, principal.actor),
      });
    },
  }),
  route('POST', `${base}/reopen`, 'reopenDeadLetters', {
    access: ofListed('dead_letters.change'),
    summary: 'Reopen resolved dead letters',
    body: api.deadLettersBody,
    success: { status: 200, schema: api.resolveShape, description: 'What became of each' },
    errors: [...READING_ERRORS, 'settings_not_stored'],
    gather: ({ body }, sources) =>
      changeDeadLetters(body.ids, sources, {
        noted: (reopen) => ({ reopen }),
        change: (own, { principal }) => sources.deadLetters.reopen(own, principal.actor),
      }),
  }),
]);

/** A letter may be of several sites: it is for those who may see all of them. What cannot be read may be of any. */
function isSeen({ views }: DeadLetterView, permission: Permission, { may }: RequestContext): boolean {
  if (may(permission, 'installation')) return true;
  return views !== null && views.length > 0 && views.every(({ siteId }) => may(permission, { site: siteId }));
}

/** What is done about letters, and how the audit notes it. */
interface DeadLetterChange<Outcome> {
  noted(ids: readonly string[]): Record<string, unknown>;
  change(own: readonly DeadLetterPosition[], world: RequestContext): Promise<Map<string, Outcome>>;
}

/**
 * Changes those letters that there are and that who asks may change, and answers what became of each that was named; the
 * others are as unknown to them, and the audit has nothing of those.
 */
async function changeDeadLetters<Outcome>(
  ids: readonly string[],
  { deadLetters, note, now }: ControlServices,
  { noted, change }: DeadLetterChange<Outcome>,
): Promise<GatheredAnswer> {
  const places = ids.flatMap((id) => parseDeadLetterId(id) ?? []);
  const found = await deadLetters.read(places);
  const before = now();
  if ('kind' in before) return before;
  const isOwn = (deadLetter: DeadLetterView, world: RequestContext): boolean =>
    isSeen(deadLetter, 'dead_letters.change', world);
  const named = found.filter((deadLetter) => isOwn(deadLetter, before));
  const answered = (outcomes: ReadonlyMap<string, Outcome>): GatheredAnswer => {
    const items = [...new Set(places.map(deadLetterId))].map((id) => ({ id, outcome: outcomes.get(id) ?? 'unknown' }));
    return { kind: 'answered', body: { items } };
  };
  if (named.length === 0) return answered(new Map());
  const world = await note('dead_letters', noted(named.map(({ id }) => id)));
  if ('kind' in world) return world;
  const own = named.filter((deadLetter) => isOwn(deadLetter, world)).map(({ place }) => place);
  return answered(own.length === 0 ? new Map() : await change(own, world));
}

async function showDeadLetter(id: string, sources: ControlServices, world: RequestContext): Promise<GatheredAnswer> {
  const place = parseDeadLetterId(id);
  const [found] = place === null ? [] : await sources.deadLetters.read([place]);
  if (found === undefined || !isSeen(found, 'dead_letters.read', world)) return refused('dead_letter_unknown');
  const [deliveries, attempts] = await Promise.all([deliveriesOf([found], sources), attemptsOf(found, sources)]);
  const sites = Map.groupBy(found.views?.slice(0, EVENTS_SHOWN_MAX) ?? [], ({ siteId }) => siteId);
  for (const [siteId, shown] of sites) sources.wasRead(siteId, 'dead_letter', shown.length);
  return { kind: 'answered', body: { ...detailsOf(found, deliveries), attempts } };
}

async function listDeadLetters(
  asked: Static<typeof api.deadLetterQuery>,
  sources: ControlServices,
  world: RequestContext,
): Promise<GatheredAnswer> {
  const { stage = null, reason = null, state = null, since = null, limit = LIMIT, after } = asked;
  const place: DeadLetterPosition | null = after === undefined ? null : parseDeadLetterId(after);
  const marked = state === 'delivered' ? null : state;
  const page = await sources.deadLetters.list({ stage, reason, state: marked, sinceMs: since, after: place, limit });
  const seen = page.deadLetters.filter(
    (deadLetter) => isAskedFor(deadLetter, asked) && isSeen(deadLetter, 'dead_letters.read', world),
  );
  const deliveries = await deliveriesOf(seen, sources);
  const items = seen.map((deadLetter) => itemOf(deadLetter, deliveries)).filter((item) => isInState(item, state));
  return { kind: 'answered', body: { items, next: page.next === null ? null : deadLetterId(page.next) } };
}

/** Whether a letter is of the site and the destination that a list is asked for. */
function isAskedFor(
  { deadLetter, views }: DeadLetterView,
  { site_id, destination }: Static<typeof api.deadLetterQuery>,
): boolean {
  if (destination !== undefined && deadLetter.destination !== destination) return false;
  return site_id === undefined || views?.some(({ siteId }) => siteId === site_id) === true;
}

/** Whether a letter is in a state as far as its events' deliveries say. */
function isInState(
  { delivery }: api.DeadLetterItem,
  state: Static<typeof api.deadLetterQuery>['state'] | null,
): boolean {
  if (state === 'open') return delivery !== 'delivered';
  return state !== 'delivered' || delivery === 'delivered';
}

function itemOf(
  { id, deadLetter, resentAtMs, resolution, views }: DeadLetterView,
  deliveries: DeadLetterDeliveries,
): api.DeadLetterItem {
  const { bytes: _bytes, ...facts } = deadLetter;
  const [only] = views ?? [];
  const delivery = deliveries.get(id) ?? null;
  const isUnderWay = delivery === 'delivered' || delivery === 'waiting';
  return {
    id,
    ...facts,
    stage: facts.stage as api.DeadLetterItem['stage'],
    destination: facts.destination || null,
    cut: resending.isCut(deadLetter),
    resendable: resending.refusedAsIs(deadLetter) === null && views !== null && views.length > 0 && !isUnderWay,
    resent_at: resentAtMs,
    resolved: resolution === null ? null : { at: resolution.atMs, by: resolution.by, note: resolution.note },
    events: views === null ? null : views.length,
    site_ids: [...new Set((views ?? []).map(({ siteId }) => siteId))],
    event: only === undefined || views?.length !== 1 ? null : { event_id: only.eventId, event: only.name },
    delivery,
  };
}

/** Whose events they are and what they are called, and nothing of what they say. */
function detailsOf(found: DeadLetterView, deliveries: DeadLetterDeliveries): Omit<api.DeadLetterDetails, 'attempts'> {
  const shown = found.views?.slice(0, EVENTS_SHOWN_MAX);
  const contents = shown?.map(({ siteId, eventId, name, distinctId, receivedAtMs }) => ({
    site_id: siteId,
    event_id: eventId,
    event: name,
    distinct_id: distinctId,
    received_at: receivedAtMs,
  }));
  const sha256 = hash('sha256', found.deadLetter.bytes, 'hex');
  return { ...itemOf(found, deliveries), sha256, contents: contents ?? null };
}

/** What is known of letters of deliveries since they died, by their ids; other letters have none. */
type DeadLetterDeliveries = ReadonlyMap<string, resending.DeadLetterDelivery>;
const ATTEMPTS_SHOWN_MAX = 20;

type Asking = Pick<ControlServices, 'queries' | 'asker'>;

/** What became of the events of deliveries' letters since. */
async function deliveriesOf(deadLetters: readonly DeadLetterView[], sources: Asking): Promise<DeadLetterDeliveries> {
  const ofDelivery = deadLetters.filter(
    ({ deadLetter, views }) => deadLetter.stage === 'delivery' && (views?.length ?? 0) > 0,
  );
  const events = ofDelivery.flatMap(({ deadLetter, views }) =>
    outcomePlaces(deadLetter.destination ?? '', views ?? []),
  );
  const known = await outcomesOf(events, sources, OUTCOMES_KEPT_MS);
  return new Map(
    ofDelivery.map(({ id, deadLetter, views }) => [
      id,
      known === null
        ? 'unknown'
        : resending.deadLetterDelivery(
            (views ?? []).map((view) => known.get(keyOfEvent(deadLetter.destination ?? '', view))),
            deadLetter.died_at,
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
function outcomePlaces(destination: string, views: readonly EncodedEvent[]): AskedEvent[] {
  return views.flatMap(({ siteId, eventId, coordinate, receivedAtMs }) =>
    coordinate === null ? [] : [{ place: { siteId, eventId, destination, ...coordinate }, receivedAtMs }],
  );
}

/** By which an event at a destination is found among outcomes. */
function keyOfEvent(destination: string, { siteId, coordinate }: EncodedEvent): string {
  const { partition = -1, offset = -1, index = -1 } = coordinate ?? {};
  return [siteId, destination, partition, offset, index].join('/');
}

/** The outcomes of events by their keys; null where ClickHouse does not answer. */
async function outcomesOf(
  events: readonly AskedEvent[],
  sources: Asking,
  cacheTtlMs: number,
): Promise<Map<string, resending.EventOutcome> | null> {
  const known = new Map<string, resending.EventOutcome>();
  for (let at = 0; at < events.length; at += PLACES_MAX) {
    const some = events.slice(at, at + PLACES_MAX);
    const sinceMs = some.reduce((least, { receivedAtMs }) => Math.min(least, receivedAtMs), Number.POSITIVE_INFINITY);
    const statement = deadLetterOutcomesStatement(
      some.map(({ place }) => place),
      Math.max(0, sinceMs - CLOCK_MARGIN_MS),
    );
    const query = { siteId: ALL_SITES, about: 'letters', asked: { rows_of: 'letters' }, statement, cacheTtlMs };
    const rows = await rowsOf<DeadLetterOutcomeRow>(sources, query);
    if (typeof rows === 'string') return null;
    for (const { site_id, destination, p, o, i, delivered, latest, latest_at } of rows) {
      const outcome = { delivered: delivered === 1, latest, latestAtMs: latest_at };
      known.set([site_id, destination, p, o, i].join('/'), outcome);
    }
  }
  return known;
}

/** The attempts to deliver the only event of a delivery's letter, the newest first; null where they are not known. */
async function attemptsOf({ deadLetter, views }: DeadLetterView, sources: Asking): Promise<AttemptItem[] | null> {
  const [event] = views ?? [];
  if (deadLetter.stage !== 'delivery' || event === undefined || views?.length !== 1) return null;
  const { siteId, eventId } = event;
  const found = await rowsOf<AttemptRow>(sources, {
    ...{ siteId, about: 'letters', asked: { rows_of: 'attempts' }, cacheTtlMs: OUTCOMES_KEPT_MS },
    statement: attemptsStatement(siteId, eventId),
  });
  if (typeof found === 'string') return null;
  return found
    .filter(({ destination }) => destination === deadLetter.destination)
    .slice(0, ATTEMPTS_SHOWN_MAX)
    .map(({ destination: _destination, received: _received, ...row }) =>
      attemptItem({ ...row, event_id: event.eventId, event: event.name }),
    );
}

/** What the settings, replays and ClickHouse know of letters that are to be resent. */
function resendRules(sources: ControlServices, world: RequestContext): ResendRules {
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
      const found = await outcomesOf(outcomePlaces(destination, views), sources, 0);
      if (found === null) return null;
      return new Map(
        views.flatMap((view) => {
          const [place, outcome] = [resending.placeOf(view), found.get(keyOfEvent(destination, view))];
          return place === null || outcome === undefined ? [] : [[place, outcome] as const];
        }),
      );
    },
  };
}

/** Dead letters, for somebody who asks. */
export type DeadLettersFor = (asker: QueryCaller) => DeadLetterStore;

/** Each reads Kafka anew and holds a page of letters, 8 MiB, in memory. */
const READS_AT_ONCE = 4;
/** Of one who asks: the others pass by those that wait. */
const ASKER_READS_AT_ONCE = 2;
/** Who waits for deliveries that are under way keeps no reader waiting; one at a time, as the store has them in turn anyway. */
const RESENDS_OF_DELIVERIES = { atOnce: 1, siteAtOnce: 1 };

/**
 * Lets so many through to dead letters at once, as queries to ClickHouse. What is searched for an event has its own queue, which
 * shares equal searches.
 *
 * @param waitingMsMax How long one may wait before it is refused with QueryBusyError.
 */
export function limitDeadLetterReads(deadLetters: DeadLetterStore, waitingMsMax?: number): DeadLettersFor {
  const gate = createQueryGate({ atOnce: READS_AT_ONCE, siteAtOnce: ASKER_READS_AT_ONCE }, waitingMsMax);
  const deliveries = createQueryGate(RESENDS_OF_DELIVERIES, waitingMsMax);
  return ({ label, signal }) => {
    const pass = <T>(ask: () => Promise<T>): Promise<T> => gate.pass(label, signal, ask);
    return {
      list: (query) => pass(() => deadLetters.list(query)),
      read: (places) => pass(() => deadLetters.read(places)),
      ofEvent: deadLetters.ofEvent,
      async resend(places, rules) {
        const undelivered = places.filter(isOfDelivery);
        const others = places.filter((place) => !isOfDelivery(place));
        const resent =
          undelivered.length === 0
            ? []
            : await deliveries.pass(label, signal, () => deadLetters.resend(undelivered, rules));
        const isAll = others.length === 0 && undelivered.length > 0;
        return new Map([...resent, ...(isAll ? [] : await pass(() => deadLetters.resend(others, rules)))]);
      },
      resolve: (places, note, by) => pass(() => deadLetters.resolve(places, note, by)),
      reopen: (places, by) => pass(() => deadLetters.reopen(places, by)),
    };
  };
}
