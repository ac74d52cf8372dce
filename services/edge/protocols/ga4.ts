// GA4's collect endpoint and Measurement Protocol, with their part of the OpenAPI document.

import { Type } from 'typebox';
import {
  clientAddress,
  type HttpRequestIn,
  type HttpServer,
  requestHost,
  sentPath,
  sentQuery,
} from '#infra/http/http_server.ts';
import { REJECTIONS } from '#pipelines/intake/field_rules.ts';
import { eventsOfHits } from '#pipelines/intake/ga4/hit_event.ts';
import { HITS_MAX, type Hit, readHits } from '#pipelines/intake/ga4/hits.ts';
import {
  MEASUREMENTS_MAX,
  type MeasurementsProblem,
  measurementProblems,
  readMeasurements,
} from '#pipelines/intake/ga4/measurement_protocol.ts';
import type { DocumentedResponse, DocumentedRoute } from '#pipelines/openapi.ts';
import {
  checkKey,
  findMeasurementSite,
  type KeyCheck,
  type MeasurementSite,
  type RefusedCaller,
} from '#pipelines/settings/callers.ts';
import { checkCaller, KEY_REPEATED, pageOrigin, presentsKey, requestSignals } from '../auth.ts';
import { BODY_BYTES_MAX, sentBody, sentJson } from '../body.ts';
import { type EdgeContext, eventScope, type RequestHook } from '../edge_context.ts';
import {
  type Answer,
  type EdgeErrorCode,
  limitedAnswer,
  PayloadError,
  refusal,
  sendAnswer,
  withoutBody,
} from '../errors.ts';
import { answerOf, answerOfHits } from '../ingest.ts';
import { BODY_ERRORS, failures, KEY_ERRORS } from '../openapi_shapes.ts';

type SiteCheck = MeasurementSite | ReturnType<typeof checkCaller>;

/**
 * GET and POST /g/collect, as gtag and what speaks like it sends to it. Whose a request is, is known by its key, by a
 * verified domain, or by its measurement id; where that stands in the body alone, nothing else of it is looked at before.
 * The answer is 204 with nothing in it, when Kafka holds what was accepted.
 *
 * @param secret Makes digests that nobody else can, for hits that have no id.
 */
export function mountGa4Collect(app: HttpServer, context: EdgeContext, secret: Buffer): void {
  /** How those were found whose body is not needed for that. */
  const sites = new WeakMap<HttpRequestIn, Extract<SiteCheck, { ok: true }>>();
  const onRequest: RequestHook = (request, reply, goOn) => {
    const check = checkSite(context, request, new URLSearchParams(sentQuery(request)).get('tid'));
    if (check.ok) {
      sites.set(request, check);
      context.markKnown(request, check);
    }
    const address = clientAddress(request);
    const limited = check.ok
      ? context.ingestService.limited(address, check)
      : context.anonymousLimiter.limited(address);
    const mayBeInBody = !check.ok && check.code === 'measurement_id_missing' && request.method === 'POST';
    if (limited !== null) sendAnswer(reply, limitedAnswer(limited));
    else if (check.ok || mayBeInBody) goOn();
    else sendAnswer(reply, refuseUnauthenticated(context, request, check));
  };
  const collect = async (request: HttpRequestIn): Promise<Answer> => {
    const hits = sentHits(request);
    const check = sites.get(request) ?? checkSite(context, request, hits[0]?.fields.get('tid') ?? null);
    if (!check.ok) return refuseUnauthenticated(context, request, check);
    context.markKnown(request, check);
    if (!areOfSite(context, hits, check)) throw new PayloadError('measurement_ids_mixed');
    context.onKeyUsed(check.key.key_hash);
    const events = eventsOfHits(hits, { caller: check.key.caller, secret });
    const peer = { clientIp: clientAddress(request), isCrossOrigin: true, ...requestSignals(request) };
    return answerOfHits(await context.ingestService.accept(events, peer, check), events.length);
  };

  const refused = async (request: HttpRequestIn, code: EdgeErrorCode): Promise<Answer> =>
    context.knownCaller(request) === undefined
      ? refuseUnauthenticated(context, request, { code })
      : context.refuseCounted(request, refusal(code));
  eventScope(app, context, { bodies: ['*', BODY_BYTES_MAX], refused }, (scope) => {
    for (const url of COLLECT_PATHS) {
      scope.route({
        method: ['GET', 'POST'],
        url,
        onRequest,
        handler: async (request, reply) => sendAnswer(reply, await collect(request)),
      });
    }
  });
}

function checkSite({ table, nowMs }: EdgeContext, request: HttpRequestIn, measurementId: string | null): SiteCheck {
  if (presentsKey(request)) return checkCaller(table, request, nowMs());
  const signs = { host: requestHost(request), measurementId, origin: pageOrigin(request) };
  return findMeasurementSite(table, signs, nowMs());
}

/** A line may say another measurement id than the query; where it is what names the site, each has to name the same. */
function areOfSite({ table }: EdgeContext, hits: readonly Hit[], check: Extract<SiteCheck, { ok: true }>): boolean {
  if (!('byMeasurementId' in check) || !check.byMeasurementId) return true;
  return hits.every(({ fields }) => {
    const named = table.sitesByMeasurementId(fields.get('tid') ?? '');
    return named.some(({ site_id }) => site_id === check.site.site_id);
  });
}

function refuseUnauthenticated(
  { anonymousLimiter, noteRefused }: EdgeContext,
  request: HttpRequestIn,
  check: { code: EdgeErrorCode; refused?: RefusedCaller },
): Answer {
  anonymousLimiter.record(clientAddress(request));
  noteRefused(request, check);
  return refusal(check.code);
}

/** Where GA4's tags send their hits; the second is where those before it did. */
const COLLECT_PATHS = ['/g/collect', '/j/collect'] as const;
const COLLECT: ReadonlySet<string> = new Set(COLLECT_PATHS);

export function isCollect(request: HttpRequestIn): boolean {
  return COLLECT.has(sentPath(request));
}

/** The hits of a request: what its query says holds for each line of its body, or of what is given in its place. */
export function sentHits(request: HttpRequestIn, body = sentBody(request).toString('utf8')): Hit[] {
  const read = readHits(sentQuery(request), body);
  if (read.ok) return read.hits;
  throw new PayloadError(read.problem === 'hits_too_many' ? 'events_too_many' : read.problem);
}

const MEASUREMENT_PATH = '/mp/collect';
const MEASUREMENT_DEBUG_PATH = '/debug/mp/collect';

/**
 * POST /mp/collect, GA4's Measurement Protocol: one of the site's server keys stands for the `api_secret`, and names the
 * site. Answers 204 when Kafka holds what was accepted. Under /debug it tells, as Google's validation server does, what
 * Google would object to, and keeps nothing.
 *
 * @param secret Makes the ids of purchases that a browser reports as well.
 */
export function mountMeasurements(app: HttpServer, context: EdgeContext, secret: Buffer): void {
  const onRequest = context.requireCaller((request) => {
    const check = checkSecret(context, request);
    if (check.ok) context.onKeyUsed(check.key.key_hash);
    return check;
  });
  const collect = async (request: HttpRequestIn): Promise<Answer> => {
    const read = readMeasurements(sentJson(request), secret);
    if (!read.ok) return context.refuseCounted(request, refusalOfMeasurements(read.problem));
    const peer = { clientIp: clientAddress(request), isCrossOrigin: true, ...requestSignals(request) };
    const accepted = await context.ingestService.accept(read.events, peer, context.callerOf(request));
    return withoutBody(answerOf(accepted, read.events.length));
  };
  const debug = async (request: HttpRequestIn): Promise<Answer> => {
    const validationMessages = measurementProblems(sentJson(request));
    return context.refuseCounted(request, { status: 200, body: { validationMessages } });
  };

  eventScope(app, context, { bodies: ['*', BODY_BYTES_MAX] }, (scope) => {
    scope.post(MEASUREMENT_PATH, { onRequest }, async (request, reply) => sendAnswer(reply, await collect(request)));
    scope.post(MEASUREMENT_DEBUG_PATH, { onRequest }, async (request, reply) =>
      sendAnswer(reply, await debug(request)),
    );
  });
}

type SecretCheck = KeyCheck | { ok: false; code: 'server_key_required'; refused: RefusedCaller };

/** A browser key may not say whose device it reports for, so that a secret is asked for as Google asks for one. */
function checkSecret({ table, nowMs }: EdgeContext, request: HttpRequestIn): SecretCheck {
  const { api_secret: secret } = request.query as Record<string, unknown>;
  if (Array.isArray(secret)) return KEY_REPEATED;
  const check =
    typeof secret === 'string'
      ? checkKey(table, secret, pageOrigin(request), nowMs())
      : checkCaller(table, request, nowMs());
  if (!check.ok || check.key.caller === 'server') return check;
  return { ok: false, code: 'server_key_required', refused: { siteId: check.site.site_id, key: check.key } };
}

function refusalOfMeasurements(problem: MeasurementsProblem): Answer {
  if (problem !== 'body_not_object' && problem !== 'events_missing') return refusal(problem);
  return { status: 400, body: { error: { code: problem, message: REJECTIONS[problem] } } };
}

const SITE_ERRORS: EdgeErrorCode[] = [
  'measurement_id_missing',
  'measurement_id_unknown',
  'measurement_id_contested',
  'measurement_id_unproven',
  'browser_key_missing',
];

const MEASUREMENT_ERRORS: EdgeErrorCode[] = ['server_key_required', 'client_id_missing'];
const REFUSED_WHOLE: EdgeErrorCode[] = ['events_rejected', 'events_too_many', 'parameters_too_many'];

const hitQuery = Type.Object(
  {
    v: Type.Optional(Type.String({ description: 'Version of the protocol: 2' })),
    tid: Type.Optional(Type.String({ description: 'Measurement id, as in G-XXXXXXXXXX; names the site' })),
    cid: Type.Optional(Type.String({ description: 'Client id' })),
    uid: Type.Optional(Type.String({ description: 'User id' })),
    en: Type.Optional(Type.String({ description: 'Name of the event; with a body, each line has its own' })),
    key: Type.Optional(Type.String({ description: 'A key, which names the site before all else' })),
  },
  { additionalProperties: true },
);
const secretQuery = Type.Object({
  api_secret: Type.String({ description: 'A server key of the site' }),
  measurement_id: Type.Optional(Type.String({ description: 'Not looked at: the secret names the site' })),
});
const measurementBody = Type.Object(
  {
    client_id: Type.String({ minLength: 1 }),
    user_id: Type.Optional(Type.String()),
    timestamp_micros: Type.Optional(Type.Union([Type.Integer(), Type.String()])),
    events: Type.Array(
      Type.Object({
        name: Type.String({ minLength: 1, maxLength: 200 }),
        params: Type.Optional(Type.Object({}, { additionalProperties: true })),
      }),
      { minItems: 1, maxItems: MEASUREMENTS_MAX },
    ),
  },
  { additionalProperties: true },
);
const MEASUREMENT_EXAMPLE = {
  client_id: '1234567890.1732000000',
  events: [{ name: 'purchase', params: { transaction_id: 'T-1', value: 25.5, currency: 'EUR' } }],
};
const validation = Type.Object({
  validationMessages: Type.Array(
    Type.Object({ fieldPath: Type.String(), description: Type.String(), validationCode: Type.String() }),
  ),
});

/** The routes of GA4's protocols. */
export function ga4Routes(): DocumentedRoute[] {
  const codes: EdgeErrorCode[] = [...KEY_ERRORS, ...BODY_ERRORS, 'rate_limited'];
  const hits = COLLECT_PATHS.flatMap((path) =>
    ['GET', 'POST'].map(
      (method): DocumentedRoute => ({
        tag: 'GA4',
        method,
        path,
        operationId: `ga4_${method.toLowerCase()}${path.replaceAll(/\W+/g, '_')}`,
        summary: method === 'GET' ? 'Send a hit of GA4’s tag' : `Send up to ${HITS_MAX} hits of GA4’s tag, a line each`,
        query: hitQuery,
        body: method === 'GET' ? null : { contentTypes: ['text/plain'], schema: Type.String(), example: HITS_EXAMPLE },
        responses: [STORED, ...failures(hitCodes(method, codes))],
      }),
    ),
  );
  const measured = [MEASUREMENT_PATH, MEASUREMENT_DEBUG_PATH].map(
    (path): DocumentedRoute => ({
      tag: 'GA4',
      method: 'POST',
      path,
      operationId: `ga4${path.replaceAll(/\W+/g, '_')}`,
      summary:
        path === MEASUREMENT_PATH
          ? 'Send events by the Measurement Protocol'
          : 'Ask what Google would object to in a body of the Measurement Protocol; nothing is kept',
      query: secretQuery,
      body: { contentTypes: ['application/json'], schema: measurementBody, example: MEASUREMENT_EXAMPLE },
      responses: [
        path === MEASUREMENT_PATH ? STORED : { status: 200, description: 'What it is', schema: validation },
        ...failures([...codes, ...MEASUREMENT_ERRORS, ...(path === MEASUREMENT_PATH ? REFUSED_WHOLE : [])]),
      ],
    }),
  );
  return [...hits, ...measured];
}

const HITS_EXAMPLE = 'en=scroll&epn.percent_scrolled=90\r\nen=login&ep.method=email';
const STORED: DocumentedResponse = {
  status: 204,
  description: 'They are stored, apart from those of bots, blocked ones, and those over the allowance',
  schema: null,
};

function hitCodes(method: string, codes: readonly EdgeErrorCode[]): EdgeErrorCode[] {
  const ofText = codes.filter((code) => code !== 'body_not_json' && code !== 'body_too_complex');
  const all: EdgeErrorCode[] = [...ofText, ...SITE_ERRORS, 'events_rejected', 'hit_too_large', 'parameters_too_many'];
  return method === 'GET' ? all : [...all, 'measurement_ids_mixed', 'events_too_many'];
}
