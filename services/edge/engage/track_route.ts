import type { HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import type { EngageNote } from '#infra/redis/engage_memory.ts';
import { circumstancesProblem } from '#pipelines/engage/circumstances_problem.ts';
import { bodyReader, type PromoAction, promoActionShape, trackShape } from '#pipelines/engage/engage_request.ts';
import { checkEngageToken } from '#pipelines/engage/engage_token.ts';
import type { Promo } from '#pipelines/engage/promo.ts';
import { promoEvent } from '#pipelines/engage/promo_event.ts';
import { type ReadyItem, siteEngage } from '#pipelines/engage/site_engage.ts';
import { itemName } from '#pipelines/engage/visitor_memory.ts';
import type { IngestCaller } from '../accept.ts';
import { type Answer, refusal, sendAnswer } from '../answer.ts';
import type { EdgeContext } from '../edge_context.ts';
import { acceptEngage, SPAM_ANSWER } from './engage_acceptance.ts';
import { type BodyRead, invalidBody, readEngageBody } from './engage_body.ts';
import type { EngageMount } from './engage_parts.ts';
import { SENT_NONCE_HELD_MS, tokenProblem } from './token_use.ts';

const readMany = bodyReader(trackShape);
const readOne = bodyReader(promoActionShape);

interface KnownAction {
  action: PromoAction;
  item: ReadyItem;
}

/** POST /v1/promos/track: what visitors did with promos. */
export function mountTrack(app: HttpServer, context: EdgeContext, { parts, rate, hooks }: EngageMount): void {
  /** Counts an action that is none of a visitor's. A server that holds a key for servers is believed what was redeemed. */
  async function isGenuine({ action, item }: KnownAction, caller: IngestCaller): Promise<boolean> {
    if (action.action === 'redeem' && caller.key.caller === 'server') return true;
    const { token: sent = '', version = item.version } = action;
    const subject = { siteId: caller.site.site_id, name: item.name, version };
    const token = checkEngageToken(parts.secret, subject, sent, context.nowMs());
    const heldMs = wasDone(action) ? SENT_NONCE_HELD_MS : undefined;
    const reason = await tokenProblem(parts, caller, token, action.impression_id, action.visitor, heldMs);
    if (reason !== null) parts.spam.found('promo', reason);
    return reason === null;
  }

  async function track(request: HttpRequestIn): Promise<Answer> {
    const caller = context.callerOf(request);
    const read = readActions(request);
    if (!read.ok) return read.answer;
    for (const [at, action] of read.body.entries()) {
      const problem = circumstancesProblem(action, { receivedAtMs: context.nowMs(), caller: caller.key.caller });
      if (problem !== null) return invalidBody(read.body.length === 1 ? problem : `events.${at}.${problem}`);
    }
    const { byName } = siteEngage(context.table.engageItems(caller.site.site_id));
    const known: KnownAction[] = [];
    for (const action of read.body) {
      const item = byName.get(itemName('promo', action.promo_id));
      if (item === undefined) return refusal('engage_unknown');
      known.push({ action, item });
    }
    const genuine = await Promise.all(known.map((one) => isGenuine(one, caller)));
    const left = known.filter((_, at) => genuine[at]);
    if (left.length === 0) return SPAM_ANSWER;
    const happened = left.map(({ action, item }) => ({
      event: promoEvent(item.definition as Promo, action.version ?? item.version, action),
      notes: notesOf(action),
      isAwaited: false,
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

/** Whether it is more than that the promo was seen. */
const wasDone = ({ action }: PromoAction): boolean => action !== 'view' && action !== 'dismiss';

function notesOf(told: PromoAction): EngageNote[] {
  const { promo_id, impression_id, action } = told;
  const name = itemName('promo', promo_id);
  const shown = { kind: 'shown', name, id: impression_id.toLowerCase() } as const;
  // A code may be redeemed in an order whose promo was seen long before, or elsewhere.
  if (action === 'redeem') return [{ kind: 'done', name }];
  return wasDone(told) ? [shown, { kind: 'done', name }] : [shown];
}
