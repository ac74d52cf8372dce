import type { HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import type { EngageNote } from '#infra/redis/engage_memory.ts';
import { bodyReader, type PromoAction, promoActionShape, trackShape } from '#pipelines/engage/engage_request.ts';
import { checkEngageToken } from '#pipelines/engage/engage_token.ts';
import type { Promo } from '#pipelines/engage/promo.ts';
import { promoEvent } from '#pipelines/engage/promo_event.ts';
import { type ReadyItem, siteEngage } from '#pipelines/engage/site_engage.ts';
import { itemName } from '#pipelines/engage/visitor_memory.ts';
import type { Site } from '#schemas/setting.ts';
import { type Answer, refusal, sendAnswer } from '../answer.ts';
import type { EdgeContext } from '../edge_context.ts';
import { acceptEngage, SPAM_ANSWER } from './engage_acceptance.ts';
import { type BodyRead, invalidBody, readEngageBody } from './engage_body.ts';
import type { EngageMount } from './engage_parts.ts';
import { isTokenUsed } from './token_use.ts';

const readMany = bodyReader(trackShape);
const readOne = bodyReader(promoActionShape);

/** POST /v1/promos/track: what visitors did with promos. */
export function mountTrack(app: HttpServer, context: EdgeContext, { parts, rate, hooks }: EngageMount): void {
  /** Counts an action that is none of a visitor's. */
  async function isGenuine(action: PromoAction, site: Site): Promise<boolean> {
    const subject = { siteId: site.site_id, name: itemName('promo', action.promo_id), version: action.version };
    const token = checkEngageToken(parts.secret, subject, action.token, context.nowMs());
    const reason = token.ok ? await isTokenUsed(parts, site.site_id, token.nonce, action.impression_id) : token.code;
    if (reason !== null) parts.spam.found('promo', reason);
    return reason === null;
  }

  async function track(request: HttpRequestIn): Promise<Answer> {
    const caller = context.callerOf(request);
    const read = readActions(request);
    if (!read.ok) return read.answer;
    const { byName } = siteEngage(context.table.engageItems(caller.site.site_id));
    const known = read.body.map((action) => ({ action, item: byName.get(itemName('promo', action.promo_id)) }));
    if (known.some(({ item }) => item === undefined)) return refusal('engage_unknown');
    const genuine = await Promise.all(known.map(({ action }) => isGenuine(action, caller.site)));
    const left = known.filter((_, at) => genuine[at]);
    if (left.length === 0) return SPAM_ANSWER;
    const happened = left.map(({ action, item }) => ({
      event: promoEvent((item as ReadyItem).definition as Promo, action),
      notes: notesOf(action),
    }));
    const taken = await acceptEngage(request, caller, happened, rate, parts);
    return taken.ok ? { status: 200, body: { accepted: taken.accepted } } : taken.answer;
  }

  app.post('/v1/promos/track', { onRequest: hooks }, async (request, reply) =>
    sendAnswer(reply, await rate.settle(request, await track(request))),
  );
}

function readActions(request: HttpRequestIn): BodyRead<PromoAction[]> {
  const read = readEngageBody(request, readMany);
  if (!read.ok) return read;
  const { events } = read.body as { events?: PromoAction[] };
  if (events !== undefined) return { ok: true, body: events };
  const one = readOne(read.body);
  return one.ok ? { ok: true, body: [one.body] } : { ok: false, answer: invalidBody(one.field) };
}

function notesOf({ promo_id, impression_id, action }: PromoAction): EngageNote[] {
  const name = itemName('promo', promo_id);
  const shown = { kind: 'shown', name, id: impression_id.toLowerCase() } as const;
  return action === 'view' || action === 'dismiss' ? [shown] : [shown, { kind: 'done', name }];
}
