import { hash } from 'node:crypto';
import type { Static } from 'typebox';
import type { ShownLetter } from '#infra/dead_letters/dead_letter_store.ts';
import { type LetterPlace, letterId, parseLetterId } from '#pipelines/dead_letter_id.ts';
import { isCut, refusedAsIs } from '#pipelines/resend.ts';
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
import { done, type GatheredAnswer, type Route, type refused, route, type Sources } from './route.ts';

const tag = 'Dead letters';
const base = '/v1/admin/dead-letters';
const LIMIT = 100;
const EVENTS_SHOWN_MAX = 100;

export const deadLetterRoutes: Route[] = [
  route({
    method: 'GET',
    path: base,
    operationId: 'listDeadLetters',
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
    tag,
    summary: 'Show a dead letter: whose events it holds, or the size and digest of what cannot be read',
    params: letterParams,
    query: nothing,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: letterDetails, description: 'The dead letter' },
    errors: ['dead_letter_unknown', 'dead_letters_unavailable'],
    run: () => done([], () => ({ body: {} })),
    async gather({ params }, { letters }) {
      const place = parseLetterId((params as { letter_id: string }).letter_id);
      const found = place === null ? null : await letters.read(place);
      return found === null ? refusal('dead_letter_unknown') : { kind: 'answered', body: detailsOf(found) };
    },
  }),
  route({
    method: 'POST',
    path: `${base}/resend`,
    operationId: 'resendDeadLetters',
    tag,
    summary: 'Send dead letters of dedup, identity or warehouse in again: each once, however often it is asked',
    params: nothing,
    query: nothing,
    body: resendBody,
    ifMatch: 'none',
    success: { status: 200, schema: resendShape, description: 'What became of each' },
    errors: ['dead_letters_unavailable', 'settings_not_stored'],
    run: () => done([], () => ({ body: {} })),
    noted: ({ body }) => ({ about: 'dead_letters', with: { resend: (body as Static<typeof resendBody>).ids } }),
    async gather({ body }, { letters }, { view }) {
      const places = (body as Static<typeof resendBody>).ids.flatMap((id) => parseLetterId(id) ?? []);
      const outcomes = await letters.resend(places, (siteId) => view.table.site(siteId)?.account_id ?? '');
      return { kind: 'answered', body: { items: [...outcomes].map(([id, outcome]) => ({ id, outcome })) } };
    },
  }),
];

async function listLetters({ query }: { query: unknown }, { letters }: Sources): Promise<GatheredAnswer> {
  const { stage = null, reason = null, since = null, limit = LIMIT, after } = query as Static<typeof letterQuery>;
  const place: LetterPlace | null = after === undefined ? null : parseLetterId(after);
  const page = await letters.list({ stage, reason, sinceMs: since, after: place, limit });
  const next = page.next === null ? null : letterId(page.next);
  return { kind: 'answered', body: { items: page.letters.map(itemOf), next } };
}

function refusal(code: Parameters<typeof refused>[0]): Extract<GatheredAnswer, { kind: 'refused' }> {
  return { kind: 'refused', code, problems: [] };
}

function itemOf({ id, letter, resentAtMs, views }: ShownLetter): LetterItem {
  const { stage, reason, detail, topic, partition, offset, index, died_at, bytes_total } = letter;
  return {
    ...{
      id,
      stage: stage as LetterItem['stage'],
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
