import { hash } from 'node:crypto';
import { type Static, Type } from 'typebox';
import type { DeadLetterStore, ShownLetter } from '#infra/dead_letters/store.ts';
import { STAGES } from '#infra/kafka/topics.ts';
import { type LetterPlace, letterId, parseLetterId } from '#pipelines/dead_letter_id.ts';
import { isCut, refusedAsIs } from '#pipelines/resend.ts';
import { done, type LettersAnswer, type Route, type refused, route } from './route.ts';
import { closed, limitField, nothing, nullable, pageOf, timeField } from './shapes.ts';

const tag = 'Dead letters';
const base = '/v1/admin/dead-letters';
const LIMIT = 100;
/** A letter has 64 KiB at the most, and a transaction is one. */
const RESENT_AT_ONCE_MAX = 100;
const EVENTS_SHOWN_MAX = 100;

const idField = Type.String({
  description: 'The dead letter: STAGE-PARTITION-OFFSET',
  pattern: '^[a-z]{1,20}-\\d{1,5}-\\d{1,15}$',
});
const stageField = Type.Enum([...STAGES], { description: 'The stage that could not take it' });

const letterFields = {
  id: idField,
  stage: stageField,
  reason: Type.String({ description: 'Why: a stable code' }),
  detail: Type.String({ description: 'Kind of the error, without personal data' }),
  topic: Type.String({ description: 'Where the record, or the event, stands' }),
  partition: Type.Integer(),
  offset: Type.Integer(),
  index: Type.Integer({ description: 'Event in the record; -1: the record as a whole' }),
  died_at: timeField('When it was put away'),
  bytes_total: Type.Integer({ description: 'Size of what died' }),
  cut: Type.Boolean({ description: 'Only the first 64 KiB are kept: it cannot be sent in again' }),
  resendable: Type.Boolean({ description: 'Whether it could be sent in again: it holds events that can be read now' }),
  resent_at: nullable(timeField('When it was sent in again'), { description: 'Null: it was not' }),
  events: nullable(Type.Integer({ description: 'Events in it' }), { description: 'Null where they cannot be read' }),
};
const letterShape = Type.Object(letterFields);
export type LetterItem = Static<typeof letterShape>;

const eventShape = Type.Object({
  site_id: Type.String(),
  event_id: Type.String(),
  distinct_id: Type.String({ description: 'As the edge has cleaned it' }),
  received_at: timeField('When it arrived'),
});
const letterDetails = Type.Object({
  ...letterFields,
  sha256: Type.String({ description: 'Of the bytes that are kept' }),
  contents: nullable(Type.Array(eventShape), { description: 'The first 100 events; null where they cannot be read' }),
});
export type LetterDetails = Static<typeof letterDetails>;

const outcomeShape = Type.Object({
  items: Type.Array(
    Type.Object({
      id: idField,
      outcome: Type.Enum(['resent', 'resent_before', 'unknown', 'not_resendable', 'cut', 'unreadable']),
    }),
  ),
});
export type ResendAnswer = Static<typeof outcomeShape>;

const resendBody = closed({
  ids: Type.Array(idField, { description: 'Dead letters', minItems: 1, maxItems: RESENT_AT_ONCE_MAX }),
});

export const deadLetterRoutes: Route[] = [
  route({
    method: 'GET',
    path: base,
    operationId: 'listDeadLetters',
    tag,
    summary: 'List dead letters, by stage and partition, oldest first; a page may be short and yet not the last',
    params: nothing,
    query: closed({
      stage: Type.Optional(stageField),
      reason: Type.Optional(Type.String({ description: 'Only those with this reason', maxLength: 100 })),
      since: Type.Optional(timeField('Only those that were put away from then on')),
      limit: limitField,
      after: Type.Optional(idField),
    }),
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: pageOf(letterShape), description: 'Dead letters, without what they hold' },
    errors: ['dead_letters_unavailable'],
    run: () => done([], () => ({ body: {} })),
    letters: listLetters,
  }),
  route({
    method: 'GET',
    path: `${base}/{letter_id}`,
    operationId: 'getDeadLetter',
    tag,
    summary: 'Show a dead letter: whose events it holds, or the size and digest of what cannot be read',
    params: closed({ letter_id: idField }),
    query: nothing,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: letterDetails, description: 'The dead letter' },
    errors: ['dead_letter_unknown', 'dead_letters_unavailable'],
    run: () => done([], () => ({ body: {} })),
    async letters({ params }, letters) {
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
    success: { status: 200, schema: outcomeShape, description: 'What became of each' },
    errors: ['dead_letters_unavailable', 'settings_not_stored'],
    run: () => done([], () => ({ body: {} })),
    noted: ({ body }) => ({ about: 'dead_letters', with: { resend: (body as Static<typeof resendBody>).ids } }),
    async letters({ body }, letters, { view }) {
      const places = (body as Static<typeof resendBody>).ids.flatMap((id) => parseLetterId(id) ?? []);
      const outcomes = await letters.resend(places, (siteId) => view.table.site(siteId)?.account_id ?? '');
      return { kind: 'answered', body: { items: [...outcomes].map(([id, outcome]) => ({ id, outcome })) } };
    },
  }),
];

interface ListQuery {
  stage?: (typeof STAGES)[number];
  reason?: string;
  since?: number;
  limit?: number;
  after?: string;
}

async function listLetters({ query }: { query: unknown }, letters: DeadLetterStore): Promise<LettersAnswer> {
  const { stage = null, reason = null, since = null, limit = LIMIT, after } = query as ListQuery;
  const place: LetterPlace | null = after === undefined ? null : parseLetterId(after);
  const page = await letters.list({ stage, reason, sinceMs: since, after: place, limit });
  const next = page.next === null ? null : letterId(page.next);
  return { kind: 'answered', body: { items: page.letters.map(itemOf), next } };
}

function refusal(code: Parameters<typeof refused>[0]): Extract<LettersAnswer, { kind: 'refused' }> {
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
