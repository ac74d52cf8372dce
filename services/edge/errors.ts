// Every error of the edge, how answers and errors are sent, and what the server itself refuses: errors inside requests,
// unknown paths, wrong methods.
import {
  type HttpReply,
  type HttpRequestIn,
  type HttpServer,
  isRefusal,
  QUERY_WITHOUT_TYPE,
  sentPath,
  withStatus,
} from '#infra/http/http_server.ts';
import type { RequestErrors } from '#infra/http/request_errors.ts';
import { REJECTIONS } from '#pipelines/intake/field_rules.ts';
import type { Limited, RateState } from '#pipelines/quota/limits.ts';

/** Nothing of the request can be taken; the error handler of its routes answers. */
export class PayloadError extends Error {
  readonly code: EdgeErrorCode;

  constructor(code: EdgeErrorCode) {
    super(code);
    this.code = code;
  }
}

/** Every code an answer of the edge may carry, with its status and message. docs/errors.md repeats the table. */
export const EDGE_ERRORS = {
  ...withStatus(400, {
    key_repeated: 'The query has more than one key; send one.',
    measurement_ids_mixed: 'All hits of a request must belong to one site.',
    client_id_missing: 'client_id is required.',
    domain_malformed: 'domain must be a host name, not an IP address.',
    compression_unsupported: 'lz64 is not supported; send gzip, base64 or JSON.',
    body_undecodable: 'The body cannot be decompressed.',
    body_too_complex: 'The body is nested too deeply or has too many values.',
    body_not_json: 'The body is not JSON in UTF-8.',
    request_malformed: 'Malformed request, or a missing or duplicate Host header.',
    events_rejected: 'All events of the request were rejected.',
    body_not_calls: 'The body must contain at least one call.',
    historical_migration_invalid: 'historical_migration must be true or false.',
    inventory_not_object: REJECTIONS.body_not_object,
    page_invalid: 'page must be a string of 1 to 2048 characters.',
    url_invalid: 'url must be a string of 1 to 2048 characters.',
    title_invalid: 'title must be a string of at most 1000 characters.',
    elements_invalid: 'elements must be an array.',
    element_invalid:
      'An element must have type, selector and text, and may have href and event_hint, all of them strings of a sensible length.',
    form_invalid: 'Some fields are invalid; see fields.',
    engage_invalid: 'A field is missing or invalid; see field.',
  }),
  ...withStatus(401, {
    key_missing: 'Send the key in the X-Svc-Key header or the key query parameter.',
    measurement_id_missing: 'Send the measurement id as tid, or a key in the key query parameter.',
  }),
  ...withStatus(402, { allowance_exhausted: "The account's monthly event quota is used up; nothing was stored." }),
  ...withStatus(403, {
    key_invalid: 'Unknown key.',
    key_revoked: 'The key was revoked.',
    key_expired: 'The key has expired.',
    key_not_for_browsers: 'A server key must not be used from a browser.',
    server_key_required: 'This route needs a server key.',
    historical_refused: 'Only a server key of a site in online mode may send historical events.',
    origin_not_allowed: "The origin is not on the key's allow-list.",
    measurement_id_unknown: 'No site has this measurement id.',
    measurement_id_contested: 'More than one site has this measurement id; send a key as well.',
    measurement_id_unproven:
      'The page cannot be matched to the site: verify its domain, allow its origin on a browser key, or send a key.',
    pixel_unknown: 'The hit has no measurement id or pixel of the site.',
    browser_key_missing: 'The site has no active browser key.',
  }),
  ...withStatus(404, {
    not_found: 'Route not found.',
    domain_unverified: 'No site has verified the domain.',
    engage_unknown: 'The site does not have a survey, promo or form with this id.',
    script_not_configured: 'This platform is not configured for browsers of the site, or with another id.',
  }),
  ...withStatus(405, { method_not_allowed: 'Method not allowed; Allow lists those that are.' }),
  ...withStatus(413, {
    hit_too_large: 'A hit may have at most 65536 characters and 1000 keys.',
    parameters_too_many:
      'A GA4 event may have at most 200 parameters, a request at most 2000 parameters and 5000 keys.',
    body_too_large: 'The body is too large, compressed or decompressed; our own routes accept 256 KiB.',
    events_too_many: REJECTIONS.events_too_many,
    calls_too_many: 'A batch may have at most 2500 calls.',
    elements_too_many: 'elements must hold at most 300 elements.',
  }),
  ...withStatus(415, {
    content_type_unsupported: 'Send application/json, or text/plain containing JSON.',
    content_encoding_unsupported: 'Content-Encoding must be gzip, deflate, br, zstd or identity.',
  }),
  ...withStatus(429, { rate_limited: 'Too many requests. Retry after the seconds in Retry-After.' }),
  ...withStatus(500, { internal: 'Internal error. Events may not have been stored; retry.' }),
  ...withStatus(503, {
    overloaded: 'The service is overloaded or cannot store events now. Retry with the same events later.',
    not_acknowledged: 'The events may not have been stored. Retry with the same events.',
    not_taken_now: 'Nothing was stored: the monthly quota is used up or the site blocks it. Retry later.',
    script_not_built: 'The script could not be built; see the log of this edge.',
  }),
};
export type EdgeErrorCode = keyof typeof EDGE_ERRORS;

const RETRY_AFTER_S = 2;

export function errorAnswer(code: EdgeErrorCode) {
  const { status, message } = EDGE_ERRORS[code];
  return { status, body: { error: { code, message } } };
}

/** An answer to a client; what is set beside status and body goes into headers. */
export interface Answer {
  status: number;
  /** Null: nothing. */
  body: object | null;
  retryAfterS?: number;
  rate?: RateState | null;
}

/** Of what was taken nothing is said but that it was. */
export function withoutBody(answer: Answer): Answer {
  return answer.status === 200 ? { ...answer, status: 204, body: null } : answer;
}

export function refusal(code: EdgeErrorCode): Answer {
  const { status, body } = errorAnswer(code);
  return { status, body, ...retryAfterOf(status) };
}

export function retryAfterOf(status: number): Pick<Answer, 'retryAfterS'> {
  return status === 503 ? { retryAfterS: RETRY_AFTER_S } : {};
}

/** What goes with an answer that refuses for the rate: when to come again, and how the caller stands to the limit. */
export function limitedHeaders({ waitMs, rate }: Limited): Pick<Answer, 'retryAfterS' | 'rate'> {
  return { retryAfterS: inSeconds(waitMs), rate };
}

/** The code of an answer that refuses; null for any other. */
export function errorCodeOf({ body }: Answer): string | null {
  const { error } = (body ?? {}) as { error?: { code: string } };
  return error?.code ?? null;
}

export function limitedAnswer(limited: Limited): Answer {
  return { ...refusal('rate_limited'), ...limitedHeaders(limited) };
}

/** Sends an answer with its headers. `RateLimit-*` are those of draft-ietf-httpapi-ratelimit-headers-03. */
export function sendAnswer(reply: HttpReply, { status, body, retryAfterS, rate }: Answer): HttpReply {
  if (retryAfterS !== undefined) reply.header('retry-after', String(retryAfterS));
  if (rate !== undefined && rate !== null) {
    reply.header('ratelimit-limit', String(rate.limit));
    reply.header('ratelimit-remaining', String(rate.remaining));
    reply.header('ratelimit-reset', String(inSeconds(rate.resetMs)));
  }
  return reply.code(status).send(body ?? undefined);
}

export function refuse(reply: HttpReply, code: EdgeErrorCode): HttpReply {
  return sendAnswer(reply, refusal(code));
}

function inSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

/** What of the server's own errors is the caller's fault, by the server's stable codes. */
const CALLER_FAULTS: Readonly<Record<string, EdgeErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'content_type_unsupported',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'request_malformed',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'body_not_json',
  FST_ERR_BAD_URL: 'request_malformed',
  [QUERY_WITHOUT_TYPE]: 'method_not_allowed',
  FST_ERR_MAX_PARAM_LENGTH: 'request_malformed',
};

/** The answer to an error of the server's; null: nobody foresaw it. */
function faultOf(error: unknown): EdgeErrorCode | null {
  if (error instanceof PayloadError) return error.code;
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string' && Object.hasOwn(CALLER_FAULTS, code)) return CALLER_FAULTS[code] ?? null;
  return isRefusal(error) ? 'request_malformed' : null;
}

type Refuse = (reply: HttpReply, code: EdgeErrorCode) => HttpReply;
type AnswerError = (code: EdgeErrorCode, request: HttpRequestIn, reply: HttpReply) => Promise<HttpReply>;

/**
 * Answers errors inside requests: those of the caller by `answer`, those that nobody foresaw by 500. Itself it never
 * throws, as the server's own answer would quote the error.
 */
export function errorHandler(errors: RequestErrors, refuse: Refuse, answer: AnswerError) {
  return async (error: unknown, request: HttpRequestIn, reply: HttpReply): Promise<HttpReply> => {
    try {
      const code = faultOf(error);
      if (code !== null) return await answer(code, request, reply);
      errors.record(error, request.routeOptions.url);
    } catch (second) {
      errors.record(second, request.routeOptions.url);
    }
    return refuse(reply, 'internal');
  };
}

/**
 * Answers what no route takes: OPTIONS on any path, an unknown path, and a known path with a method it does not have. It
 * knows the routes that are added after it.
 */
export function answerUnrouted(app: HttpServer, errors: RequestErrors): void {
  const methodsOf = watchMethods(app);
  const unrouted = (request: HttpRequestIn, reply: HttpReply): HttpReply => {
    const allowed = methodsOf(sentPath(request));
    if (allowed === undefined) return refuse(reply, 'not_found');
    return refuse(reply.header('allow', allowed.join(', ')), 'method_not_allowed');
  };
  app.options('*', (request, reply) => {
    const allowed = methodsOf(sentPath(request));
    if (allowed !== undefined) reply.header('allow', allowed.join(', '));
    return reply.code(204).send();
  });
  app.setNotFoundHandler(unrouted);
  app.setErrorHandler(
    errorHandler(errors, refuse, async (code, request, reply) =>
      code === 'method_not_allowed' ? unrouted(request, reply) : refuse(reply, code),
    ),
  );
}

/**
 * Notes the methods of every route added from here on, so that a wrong one is told from an unknown path. Answers those of a
 * path, sorted, OPTIONS among them; undefined for an unknown one.
 */
function watchMethods(app: HttpServer): (path: string) => string[] | undefined {
  const known = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = known.get(url) ?? new Set(['OPTIONS']);
    for (const one of [method].flat()) methods.add(one);
    known.set(url, methods);
  });
  return (path) => {
    const methods = known.get(path);
    return methods && [...methods].sort();
  };
}
