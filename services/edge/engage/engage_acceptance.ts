import type { HttpRequestIn } from '#infra/http/http_server.ts';
import type { EngageNote } from '#infra/redis/engage_memory.ts';
import type { EngageEvent } from '#pipelines/engage/engage_event.ts';
import type { Site } from '#schemas/setting.ts';
import type { Acceptance, IngestCaller } from '../accept.ts';
import { type Answer, limitedAnswer, refusal } from '../answer.ts';
import { errorAnswer } from '../errors.ts';
import type { EngageParts } from './engage_parts.ts';
import type { EngageRate } from './engage_rate.ts';
import { idsOf } from './engage_visitor.ts';

/** An event of a survey, promo or form, and what it tells of the visitor. */
export interface Happened {
  event: EngageEvent;
  notes: readonly EngageNote[];
  /** A person waits for what becomes of it, and would be thanked. */
  isAwaited: boolean;
}

/** When a visitor may send again what cannot be taken now. */
export const LATER_S = 600;

export type Taken = { ok: true; accepted: number; acceptance: Acceptance } | { ok: false; answer: Answer };

/** Hands events to the acceptor, and notes what the visitor saw once Kafka holds them. */
export async function acceptEngage(
  request: HttpRequestIn,
  caller: IngestCaller,
  happened: readonly Happened[],
  rate: EngageRate,
  { memory, identitySecret }: Pick<EngageParts, 'memory' | 'identitySecret'>,
): Promise<Taken> {
  const events = happened.map(({ event }) => withConsent(event, caller.site));
  const acceptance = await rate.accept(request, events);
  if (!acceptance.ok) {
    const limited = acceptance.code === 'rate_limited';
    return { ok: false, answer: limited ? limitedAnswer(acceptance.limited) : refusal(acceptance.code) };
  }
  const { accepted, dropped, blocked, rejected } = acceptance;
  if (rejected.length > 0 && rejected.length === events.length) {
    return { ok: false, answer: { status: 400, body: { ...errorAnswer('events_rejected').body, rejected } } };
  }
  if (accepted === 0 && dropped + blocked > 0 && happened.some(({ isAwaited }) => isAwaited)) {
    return { ok: false, answer: { ...refusal('not_taken_now'), retryAfterS: LATER_S } };
  }
  if (accepted > 0) {
    for (const { event, notes } of happened) {
      const { rememberedId } = idsOf({ distinct_id: event.distinct_id ?? '' }, caller, identitySecret);
      if (rememberedId !== null && notes.length > 0) memory.note(caller.site.site_id, rememberedId, notes);
    }
  }
  return { ok: true, accepted, acceptance };
}

/** On a site that measures nobody who has not agreed, whoever says nothing of it has not. */
function withConsent(event: EngageEvent, { tag }: Site): EngageEvent {
  if (!tag.consent_required || Object.hasOwn(event.properties, '$consent')) return event;
  return { ...event, properties: { ...event.properties, $consent: { analytics: false, ads: false } } };
}

/** What is answered for spam: as for robots' events, nothing that teaches. */
export const SPAM_ANSWER: Answer = { status: 200, body: { accepted: 0 } };
