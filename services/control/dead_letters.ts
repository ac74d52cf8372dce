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
import { done, type GatheredAnswer, type Route, refused, route, type Sources, type World } from './route.ts';
import { ofListed } from './route_access.ts';

const tag = 'Dead letters';
const base = '/v1/admin/dead-letters';
const LIMIT = 100;
const EVENTS_SHOWN_MAX = 100;

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
    errors: ['dead_letters_unavailable'],
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
    errors: ['dead_letter_unknown', 'dead_letters_unavailable'],
    run: () => done([], () => ({ body: {} })),
    async gather({ params }, { letters }, world) {
      const place = parseLetterId((params as { letter_id: string }).letter_id);
      const [found] = place === null ? [] : await letters.find([place]);
      return found === undefined || !isSeen(found, 'dead_letters.read', world)
        ? refused('dead_letter_unknown')
        : { kind: 'answered', body: detailsOf(found) };
    },
  }),
  route({
    method: 'POST',
    path: `${base}/resend`,
    operationId: 'resendDeadLetters',
    access: ofListed('dead_letters.change'),
    tag,
    summary: 'Send dead letters of dedup, identity or warehouse in again: each once, however often it is asked',
    params: nothing,
    query: nothing,
    body: resendBody,
    ifMatch: 'none',
    success: { status: 200, schema: resendShape, description: 'What became of each' },
    errors: ['dead_letters_unavailable', 'settings_not_stored'],
    run: () => done([], () => ({ body: {} })),
    gather({ body }, sources, world) {
      const accountOf = (siteId: string): string => world.view.table.site(siteId)?.account_id ?? '';
      return changed((body as Static<typeof resendBody>).ids, sources, world, {
        noted: (resend) => ({ resend }),
        change: (own) => sources.letters.resend(own, accountOf),
      });
    },
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
  change(own: readonly LetterPlace[]): Promise<Map<string, Outcome>>;
}

/**
 * Changes those letters that there are and that who asks may change, and answers what became of each that was named; the
 * others are as unknown to them, and the audit has nothing of those.
 */
export async function changed<Outcome>(
  ids: readonly string[],
  { letters, note }: Sources,
  world: World,
  { noted, change }: LetterChange<Outcome>,
): Promise<GatheredAnswer> {
  const places = [...new Set(ids)].flatMap((id) => parseLetterId(id) ?? []);
  const found = await letters.find(places);
  const own = found.filter((letter) => isSeen(letter, 'dead_letters.change', world));
  if (own.length > 0) await note('dead_letters', noted(own.map(({ id }) => id)));
  const outcomes = own.length === 0 ? new Map<string, Outcome>() : await change(own.map(({ place }) => place));
  const items = places.map(letterId).map((id) => ({ id, outcome: outcomes.get(id) ?? 'unknown' }));
  return { kind: 'answered', body: { items } };
}

async function listLetters({ query }: { query: unknown }, { letters }: Sources, world: World): Promise<GatheredAnswer> {
  const {
    stage = null,
    reason = null,
    state = null,
    since = null,
    limit = LIMIT,
    after,
  } = query as Static<typeof letterQuery>;
  const place: LetterPlace | null = after === undefined ? null : parseLetterId(after);
  const page = await letters.list({ stage, reason, state, sinceMs: since, after: place, limit });
  const seen = page.letters.filter((letter) => isSeen(letter, 'dead_letters.read', world));
  const next = page.next === null ? null : letterId(page.next);
  return { kind: 'answered', body: { items: seen.map(itemOf), next } };
}

function itemOf({ id, letter, resentAtMs, resolution, views }: ShownLetter): LetterItem {
  const { stage, destination = '', reason, detail, topic, partition, offset, index, died_at, bytes_total } = letter;
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
    resendable: refusedAsIs(letter) === null && views !== null && views.length > 0,
    resent_at: resentAtMs,
    resolved: resolution === null ? null : { at: resolution.atMs, by: resolution.by, note: resolution.note },
    events: views === null ? null : views.length,
  };
}

/** Whose events they are, and nothing of what the events say. */
function detailsOf(found: ShownLetter): LetterDetails {
  const contents = found.views?.slice(0, EVENTS_SHOWN_MAX).map(({ siteId, eventId, distinctId, receivedAtMs }) => ({
    site_id: siteId,
    event_id: eventId,
    distinct_id: distinctId,
    received_at: receivedAtMs,
  }));
  return { ...itemOf(found), sha256: hash('sha256', found.letter.bytes, 'hex'), contents: contents ?? null };
}
