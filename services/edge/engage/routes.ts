// Routes of surveys, promos and forms: what a visitor is shown, and what they did with promos and surveys.
import { clientAddress, type HttpReply, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import type { Impression } from '#infra/redis/engage/engage.ts';
import { decide, fitting, inShare, type Look, overOn, type SeenItem } from '#pipelines/engage/decide.ts';
import { itemName } from '#pipelines/engage/definition_fields.ts';
import type { Promo } from '#pipelines/engage/definition_problems.ts';
import { promoEvent, surveyEvent } from '#pipelines/engage/engage_event.ts';
import {
  bodyReader,
  ENGAGE_BODY_BYTES_MAX,
  type EngageRequest,
  engageShape,
  type PromoAction,
  promoActionShape,
  respondShape,
  trackShape,
} from '#pipelines/engage/engage_request.ts';
import { missingAnswer } from '#pipelines/engage/next_question.ts';
import { type ReadyItem, siteEngage } from '#pipelines/engage/site_engage.ts';
import { issueEngageToken, judgeAnswers, nonceOf, type SpamReason, type TokenCheck } from '#pipelines/engage/spam.ts';
import type { Survey } from '#pipelines/engage/survey.ts';
import type { Site } from '#schemas/setting.ts';
import { type EdgeContext, eventScope, type RequestHook } from '../edge_context.ts';
import { type Answer, type EdgeErrorCode, limitedAnswer, refusal, sendAnswer } from '../errors.ts';
import type { IngestCaller } from '../ingest_service.ts';
import { FORM_CONTENT_TYPES, wantsPage } from './form_body.ts';
import { mountForm, sendPlainRefusal } from './form_submission.ts';
import {
  acceptEngage,
  type BodyRead,
  checkToken,
  createEngageRate,
  digestOf,
  type Engage,
  type EngageParts,
  findShown,
  idsOf,
  invalidBody,
  judgeBesideOthers,
  lookOf,
  notesOf,
  notTaken,
  problemOf,
  readEngageBody,
  SENT_NONCE_HELD_MS,
  SPAM_ANSWER,
  shareIdOf,
  textDigest,
} from './submission.ts';

const JSON_TYPES = ['application/json', 'text/plain'];

/** The routes of surveys, promos and forms. Each request counts against the rate, also where nothing of it is taken. */
export function mountEngage(app: HttpServer, context: EdgeContext, parts: EngageParts): void {
  const { ingestService, callerOf, requireApiKey } = context;
  const send = (request: HttpRequestIn, reply: HttpReply, answer: Answer): HttpReply =>
    wantsPage(request) ? sendPlainRefusal(request, reply, answer) : sendAnswer(reply, answer);
  const limitedBeforeBody: RequestHook = (request, reply, goOn) => {
    const known = ingestService.limited(clientAddress(request), callerOf(request));
    if (known === null) goOn();
    else send(request, reply, limitedAnswer(known));
  };
  const hooks = [requireApiKey, limitedBeforeBody];
  const rate = createEngageRate(context);
  const refused = async (request: HttpRequestIn, code: EdgeErrorCode): Promise<Answer> =>
    context.knownCaller(request) === undefined ? refusal(code) : rate.settle(request, refusal(code));
  const engage = { ...parts, context, rate, hooks };
  eventScope(app, context, { bodies: [JSON_TYPES, ENGAGE_BODY_BYTES_MAX], refused, send }, (scope) => {
    mountShow(scope, engage);
    mountRespond(scope, engage);
    mountTrack(scope, engage);
  });
  eventScope(app, context, { bodies: [FORM_CONTENT_TYPES, ENGAGE_BODY_BYTES_MAX], refused, send }, (scope) =>
    mountForm(scope, engage),
  );
}

/** A page that stays open asks again after this. */
const NEXT_CHECK_MS = 60_000;

const readShowBody = bodyReader(engageShape);

/** POST /v1/engage: what of a site's surveys, promos and forms a visitor is shown on a page. 204: the site has none. */
function mountShow(
  app: HttpServer,
  { context, rate, hooks, memory, secret, identitySecret, randomBytes }: Engage,
): void {
  const { callerOf, table } = context;
  const nonce = createNonces(randomBytes);

  async function shownItems(request: HttpRequestIn, body: EngageRequest, caller: IngestCaller): Promise<string | null> {
    const visitor = body.visitor ?? {};
    const { site } = caller;
    const ids = idsOf(visitor, caller, identitySecret);
    const look = lookOf(request, { url: body.page.url, visitor, site }, context.nowMs());
    if (look === null) return null;
    const { items } = siteEngage(table.engageItems(site.site_id));
    const candidates = fitting(items, look);
    const { rememberedId } = ids;
    const isKnown = candidates.length > 0 && rememberedId !== null;
    const known = isKnown ? await memory.read(site.site_id, rememberedId) : null;
    const shareId = known?.personId ?? shareIdOf(request, site, ids);
    const shown = decide(inShare(candidates, shareId, secret), look, browserMemory(body, look.nowMs), known);
    const over = overOn(body.open ?? [], items, look);
    return showAnswer(
      shown.map((item) => withToken(item, visitor.locale ?? null, site, look)),
      over,
    );
  }

  function withToken(item: ReadyItem, locale: string | null, { site_id: siteId }: Site, { nowMs }: Look): string {
    const subject = { siteId, name: item.name, version: item.version };
    const token = issueEngageToken(secret, subject, nowMs, nonce());
    return `${item.answerIn(locale)},"token":"${token}"}`;
  }

  app.post('/v1/engage', { onRequest: hooks }, async (request, reply) => {
    const caller = callerOf(request);
    const { site } = caller;
    reply.header('cache-control', 'no-store');
    const limited = await rate.refusal(request);
    if (limited !== null) return sendAnswer(reply, limited);
    const read = readEngageBody(request, readShowBody);
    const isOpenSomewhere = read.ok && (read.body.open ?? []).length > 0;
    const { items } = siteEngage(table.engageItems(site.site_id));
    if (items.length === 0 && !isOpenSomewhere) return reply.code(204).send();
    if (!read.ok) return sendAnswer(reply, read.answer);
    const answer = await shownItems(request, read.body, caller);
    if (answer === null) return sendAnswer(reply, invalidBody('page.url'));
    return reply.type('application/json; charset=utf-8').send(answer);
  });
}

const showAnswer = (items: readonly string[], over: readonly string[]): string =>
  `{"items":[${items.join(',')}],"over":${JSON.stringify(over)},"next_check_ms":${NEXT_CHECK_MS}}`;

/** Clocks of visitors' devices are right to an hour mostly. */
const CLOCK_AHEAD_MS = 3_600_000;

/**
 * A time that is far ahead is of a wrong clock and says nothing of when: taken as it is, it would keep everything from the
 * visitor until then.
 */
function browserMemory({ seen = {} }: EngageRequest, nowMs: number): Map<string, SeenItem> {
  const past = (ms: number): number => (ms > nowMs + CLOCK_AHEAD_MS ? 0 : Math.min(ms, nowMs));
  return new Map(
    Object.entries(seen).map(([name, { n, last, done }]) => [
      name,
      { times: n, lastMs: past(last), doneMs: done === undefined ? null : past(done) },
    ]),
  );
}

const NONCE_BYTES = 9;
const NONCE_CHARACTERS = 12;
const DRAWN_AT_ONCE = 256;

/** Nonces of tokens: 12 characters of base64url at random. Drawn many at a time, as each draw costs more than a token. */
export function createNonces(randomBytes: (bytes: number) => Buffer): () => string {
  let drawn = '';
  let used = 0;
  return () => {
    if (used === drawn.length) {
      drawn = randomBytes(NONCE_BYTES * DRAWN_AT_ONCE).toString('base64url');
      used = 0;
    }
    used += NONCE_CHARACTERS;
    return drawn.slice(used - NONCE_CHARACTERS, used);
  };
}

const readActionBatch = bodyReader(trackShape);
const readAction = bodyReader(promoActionShape);

/** POST /v1/promos/track: what visitors did with promos. */
function mountTrack(app: HttpServer, engage: Engage): void {
  const { context, rate, hooks, spam } = engage;

  /** Counts an action that is none of a visitor's. A server that holds a key for servers is believed what was redeemed. */
  async function isGenuine(action: PromoAction, token: TokenCheck, caller: IngestCaller): Promise<boolean> {
    if (action.action === 'redeem' && caller.key.caller === 'server') return true;
    const told = { token, submissionId: action.impression_id, visitor: action.visitor };
    const reason = await checkToken(engage, caller, told, wasDone(action) ? SENT_NONCE_HELD_MS : undefined);
    if (reason !== null) spam.found('promo', reason);
    return reason === null;
  }

  async function track(request: HttpRequestIn): Promise<Answer> {
    const caller = context.callerOf(request);
    const read = readActions(request);
    if (!read.ok) return read.answer;
    for (const [at, action] of read.body.entries()) {
      const problem = problemOf(engage, caller, action);
      if (problem !== null) return invalidBody(read.body.length === 1 ? problem : `events.${at}.${problem}`);
    }
    const told = read.body.flatMap((action) => {
      const shown = findShown(engage, caller, itemName('promo', action.promo_id), action);
      return shown === null ? [] : [{ action, ...shown }];
    });
    if (told.length < read.body.length) return refusal('engage_unknown');
    const genuine = await Promise.all(told.map(({ action, token }) => isGenuine(action, token, caller)));
    const left = told.filter((_, at) => genuine[at]);
    if (left.length === 0) return SPAM_ANSWER;
    const happened = left.map(({ action, item, version }) => ({
      event: promoEvent(item.definition as Promo, version, action),
      notes: notesOfAction(action),
      isAwaited: false,
    }));
    return acceptEngage(engage, request, happened);
  }

  app.post('/v1/promos/track', { onRequest: hooks }, async (request, reply) =>
    sendAnswer(reply, await rate.settle(request, await track(request))),
  );
}

function readActions(request: HttpRequestIn): BodyRead<PromoAction[]> {
  const read = readEngageBody(request, readActionBatch);
  if (!read.ok) return read;
  const { events } = read.body as { events?: PromoAction[] };
  if (events !== undefined) return { ok: true, body: events };
  const one = readAction(read.body);
  return one.ok ? { ok: true, body: [one.body] } : { ok: false, answer: invalidBody(one.field) };
}

/** Whether it is more than that the promo was seen. */
const wasDone = ({ action }: PromoAction): boolean => action !== 'view' && action !== 'dismiss';

function notesOfAction(told: PromoAction): Impression[] {
  const name = itemName('promo', told.promo_id);
  // A code may be redeemed in an order whose promo was seen long before, or elsewhere.
  if (told.action === 'redeem') return [{ kind: 'done', name }];
  return notesOf(name, told.impression_id, wasDone(told));
}

const readBody = bodyReader(respondShape);

/** POST /v1/surveys/respond: that a survey was shown, answered in part or whole, or dismissed. */
function mountRespond(app: HttpServer, engage: Engage): void {
  const { context, rate, hooks, secret, addressOf } = engage;
  const spamAnswer = (reason: SpamReason): Answer => notTaken(engage, 'survey', { kind: 'spam', reason });

  async function respond(request: HttpRequestIn): Promise<Answer> {
    const caller = context.callerOf(request);
    const read = readEngageBody(request, readBody);
    if (!read.ok) return read.answer;
    const { body } = read;
    const problem = problemOf(engage, caller, body);
    if (problem !== null) return invalidBody(problem);
    const name = itemName('survey', body.survey_id);
    const shown = findShown(engage, caller, name, body);
    if (shown === null) return refusal('engage_unknown');
    const { token, item } = shown;
    const survey = item.definition as Survey;
    if (!token.ok && nonceOf(token) === null) return spamAnswer(token.code);
    const made = surveyEvent(survey, item.version, body, engage.secret);
    if (!made.ok) return invalidBody(made.field);
    // Another version may have asked otherwise.
    const isWhole = body.status === 'completed' && body.version === item.version;
    const missing = isWhole ? missingAnswer(survey, body.answers ?? []) : null;
    if (missing !== null) return invalidBody(`answers.${missing}`);
    const { visitor, challenge } = body;
    const submitted = {
      token,
      submissionId: body.submission_id.toLowerCase(),
      visitor,
      challenge,
      withoutScript: false,
    };
    const isAnswered = body.status === 'partial' || body.status === 'completed';
    if (isAnswered) {
      const address = addressOf(clientAddress(request));
      const judged = await judgeBesideOthers(engage, caller, submitted, {
        alone: judgeAnswers(token, context.nowMs()),
        counted: {
          // Answers have a count of their own: those who answer a survey may send a form all the same.
          address: address === null ? null : digestOf(secret, `survey\0${address}`),
          text: textDigest(secret, made.texts),
        },
        asksProof: true,
      });
      if (judged.kind !== 'clean') return notTaken(engage, 'survey', judged);
    } else {
      // That a survey was shown or dismissed says nothing that anybody would forge but its number.
      const reason = await checkToken(engage, caller, submitted);
      if (reason !== null) return spamAnswer(reason);
    }
    const notes = notesOf(name, body.submission_id, body.status === 'completed');
    const happened = { event: made.event, notes, isAwaited: isAnswered };
    return acceptEngage(engage, request, [happened], { event_id: made.event.uuid });
  }

  app.post('/v1/surveys/respond', { onRequest: hooks }, async (request, reply) =>
    sendAnswer(reply, await rate.settle(request, await respond(request))),
  );
}
