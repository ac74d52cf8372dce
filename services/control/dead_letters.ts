import { hash } from 'node:crypto';
import type { Static } from 'typebox';
import type { ShownLetter } from '#infra/dead_letters/dead_letter_store.ts';
import { type LetterPlace, letterId, parseLetterId } from '#pipelines/dead_letter_id.ts';
import { isCut, refusedAsIs } from '#pipelines/resend.ts';
import type { Permission } from '#pipelines/settings/access.ts';
import {
  type LetterDetails,
  type LetterItem,
  letterDetails,
  letterParams,
  letterQuery,
  letterShape,
  resendBody,
  resendShape,
} from '#services/control_api/dead_letter_shapes.ts';
import { nothing, pageOf } from '#services/control_api/fields.ts';
import { attemptsOf, deliveriesOf, type LetterDeliveries, resendRules } from './letter_deliveries.ts';
import { done, type GatheredAnswer, type Route, refused, route, type Sources, type World } from './route.ts';
import { ofListed } from './route_access.ts';

const tag = 'Dead letters';
const base = '/v1/admin/dead-letters';
const LIMIT = 100;
const EVENTS_SHOWN_MAX = 100;
/** What may come of asking for dead letters. */
export const READING_ERRORS = ['dead_letters_unavailable', 'query_busy', 'query_cancelled'] as const;

export const deadLetterRoutes: Route[] = [
  route({
    method: 'GET',
    path: base,
    operationId: 'listDeadLetters',
    access: ofListed('dead_letters.read'),
    tag,
    summary: 'List dead letters, by stage and partition, oldest first; a page may be short and yet not the last',
    params: nothing,
    query: letterQuery,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: pageOf(letterShape), description: 'Dead letters, without what they hold' },
    errors: READING_ERRORS,
    run: () => done([], () => ({ body: {} })),
    gather: listLetters,
  }),
  route({
    method: 'GET',
    path: `${base}/{letter_id}`,
    operationId: 'getDeadLetter',
    access: ofListed('dead_letters.read'),
    tag,
    summary: 'Show a dead letter: whose events it holds, or the size and digest of what cannot be read',
    params: letterParams,
    query: nothing,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: letterDetails, description: 'The dead letter' },
    errors: ['dead_letter_unknown', ...READING_ERRORS],
    run: () => done([], () => ({ body: {} })),
    gather: ({ params }, sources, world) => showLetter((params as { letter_id: string }).letter_id, sources, world),
  }),
  route({
    method: 'POST',
    path: `${base}/resend`,
    operationId: 'resendDeadLetters',
    access: ofListed('dead_letters.change'),
    tag,
    summary:
      'Send dead letters in again, those of deliveries to their destination: each once, however often it is asked',
    params: nothing,
    query: nothing,
    body: resendBody,
    ifMatch: 'none',
    success: { status: 200, schema: resendShape, description: 'What became of each' },
    errors: [...READING_ERRORS, 'settings_not_stored'],
    run: () => done([], () => ({ body: {} })),
    gather: ({ body }, sources) =>
      changed((body as Static<typeof resendBody>).ids, sources, {
        noted: (resend) => ({ resend }),
        change: (own, world) => sources.letters.resend(own, resendRules(sources, world)),
      }),
  }),
];

/** A letter may be of several sites: it is for those who may see all of them. What cannot be read may be of any. */
function isSeen({ views }: ShownLetter, permission: Permission, { may }: World): boolean {
  if (may(permission, 'installation')) return true;
  return views !== null && views.length > 0 && views.every(({ siteId }) => may(permission, { site: siteId }));
}

/** What is done about letters, and how the audit notes it. */
interface LetterChange<Outcome> {
  noted(ids: readonly string[]): Record<string, unknown>;
  change(own: readonly LetterPlace[], world: World): Promise<Map<string, Outcome>>;
}

/**
 * Changes those letters that there are and that who asks may change, and answers what became of each that was named; the
 * others are as unknown to them, and the audit has nothing of those.
 */
export async function changed<Outcome>(
  ids: readonly string[],
  { letters, note, now }: Sources,
  { noted, change }: LetterChange<Outcome>,
): Promise<GatheredAnswer> {
  const places = ids.flatMap((id) => parseLetterId(id) ?? []);
  const found = await letters.read(places);
  const before = now();
  if ('kind' in before) return before;
  const isOwn = (letter: ShownLetter, world: World): boolean => isSeen(letter, 'dead_letters.change', world);
  const named = found.filter((letter) => isOwn(letter, before));
  const answered = (outcomes: ReadonlyMap<string, Outcome>): GatheredAnswer => {
    const items = [...new Set(places.map(letterId))].map((id) => ({ id, outcome: outcomes.get(id) ?? 'unknown' }));
    return { kind: 'answered', body: { items } };
  };
  if (named.length === 0) return answered(new Map());
  const world = await note('dead_letters', noted(named.map(({ id }) => id)));
  if ('kind' in world) return world;
  const own = named.filter((letter) => isOwn(letter, world));
  return answered(
    own.length === 0
      ? new Map()
      : await change(
          own.map(({ place }) => place),
          world,
        ),
  );
}

async function showLetter(id: string, sources: Sources, world: World): Promise<GatheredAnswer> {
  const place = parseLetterId(id);
  const [found] = place === null ? [] : await sources.letters.read([place]);
  if (found === undefined || !isSeen(found, 'dead_letters.read', world)) return refused('dead_letter_unknown');
  const [deliveries, attempts] = await Promise.all([deliveriesOf([found], sources), attemptsOf(found, sources)]);
  const sites = Map.groupBy(found.views?.slice(0, EVENTS_SHOWN_MAX) ?? [], ({ siteId }) => siteId);
  for (const [siteId, shown] of sites) sources.wasRead(siteId, 'dead_letter', shown.length);
  return { kind: 'answered', body: { ...detailsOf(found, deliveries), attempts } };
}

async function listLetters({ query }: { query: unknown }, sources: Sources, world: World): Promise<GatheredAnswer> {
  const asked = query as Static<typeof letterQuery>;
  const { stage = null, reason = null, state = null, since = null, limit = LIMIT, after } = asked;
  const place: LetterPlace | null = after === undefined ? null : parseLetterId(after);
  const marked = state === 'delivered' ? null : state;
  const page = await sources.letters.list({ stage, reason, state: marked, sinceMs: since, after: place, limit });
  const seen = page.letters.filter((letter) => isAskedFor(letter, asked) && isSeen(letter, 'dead_letters.read', world));
  const deliveries = await deliveriesOf(seen, sources);
  const items = seen.map((letter) => itemOf(letter, deliveries)).filter((item) => isIn(item, state));
  return { kind: 'answered', body: { items, next: page.next === null ? null : letterId(page.next) } };
}

/** Whether a letter is of the site and the destination that a list is asked for. */
function isAskedFor({ letter, views }: ShownLetter, { site_id, destination }: Static<typeof letterQuery>): boolean {
  if (destination !== undefined && letter.destination !== destination) return false;
  return site_id === undefined || views?.some(({ siteId }) => siteId === site_id) === true;
}

/** Whether a letter is in a state as far as its events' deliveries say. */
function isIn({ delivery }: LetterItem, state: Static<typeof letterQuery>['state'] | null): boolean {
  if (state === 'open') return delivery !== 'delivered';
  return state !== 'delivered' || delivery === 'delivered';
}

function itemOf({ id, letter, resentAtMs, resolution, views }: ShownLetter, deliveries: LetterDeliveries): LetterItem {
  const { stage, destination = '', reason, detail, topic, partition, offset, index, died_at, bytes_total } = letter;
  const [only] = views ?? [];
  const delivery = deliveries.get(id) ?? null;
  const isUnderWay = delivery === 'delivered' || delivery === 'waiting';
  return {
    ...{
      id,
      stage: stage as LetterItem['stage'],
      destination: destination === '' ? null : destination,
      reason,
      detail,
      topic,
      partition,
      offset,
      index,
      died_at,
      bytes_total,
    },
    cut: isCut(letter),
    resendable: refusedAsIs(letter) === null && views !== null && views.length > 0 && !isUnderWay,
    resent_at: resentAtMs,
    resolved: resolution === null ? null : { at: resolution.atMs, by: resolution.by, note: resolution.note },
    events: views === null ? null : views.length,
    site_ids: [...new Set((views ?? []).map(({ siteId }) => siteId))],
    event: only === undefined || views?.length !== 1 ? null : { event_id: only.eventId, event: only.name },
    delivery,
  };
}

/** Whose events they are and what they are called, and nothing of what they say. */
function detailsOf(found: ShownLetter, deliveries: LetterDeliveries): Omit<LetterDetails, 'attempts'> {
  const shown = found.views?.slice(0, EVENTS_SHOWN_MAX);
  const contents = shown?.map(({ siteId, eventId, name, distinctId, receivedAtMs }) => ({
    site_id: siteId,
    event_id: eventId,
    event: name,
    distinct_id: distinctId,
    received_at: receivedAtMs,
  }));
  return {
    ...itemOf(found, deliveries),
    sha256: hash('sha256', found.letter.bytes, 'hex'),
    contents: contents ?? null,
  };
}
