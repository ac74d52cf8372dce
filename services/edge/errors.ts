// Every error of the edge, how answers and errors are sent, and what the server itself refuses: errors inside requests, unknown paths, wrong methods.
import {
  type HttpReply,
  type HttpRequestIn,
  type HttpServer,
  isRefusal,
  QUERY_WITHOUT_TYPE,
  sentPath,
} from '#infra/http/http_server.ts';
import type { RequestErrors } from '#infra/http/request_errors.ts';
import { REJECTIONS } from '#pipelines/intake/rejections.ts';
import type { Limited, RateState } from '#pipelines/limits/rate_limits.ts';

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
  key_repeated: { status: 400, message: 'The query has more than one key; send one.' },
  key_missing: { status: 401, message: 'Send the key in the X-Svc-Key header or the key query parameter.' },
  key_invalid: { status: 403, message: 'Unknown key.' },
  key_revoked: { status: 403, message: 'The key was revoked.' },
  key_expired: { status: 403, message: 'The key has expired.' },
  key_not_for_browsers: { status: 403, message: 'A server key must not be used from a browser.' },
  server_key_required: { status: 403, message: 'This route needs a server key.' },
  origin_not_allowed: { status: 403, message: "The origin is not on the key's allow-list." },
  measurement_id_missing: {
    status: 401,
    message: 'Send the measurement id as tid, or a key in the key query parameter.',
  },
  measurement_id_unknown: { status: 403, message: 'No site has this measurement id.' },
  measurement_id_contested: { status: 403, message: 'More than one site has this measurement id; send a key as well.' },
  measurement_id_unproven: {
    status: 403,
    message:
      'The page cannot be matched to the site: verify its domain, allow its origin on a browser key, or send a key.',
  },
  measurement_ids_mixed: { status: 400, message: 'All hits of a request must belong to one site.' },
  pixel_unknown: { status: 403, message: 'The hit has no measurement id or pixel of the site.' },
  browser_key_missing: { status: 403, message: 'The site has no active browser key.' },
  hit_too_large: { status: 413, message: 'A hit may have at most 65536 characters and 1000 keys.' },
  parameters_too_many: {
    status: 413,
    message: 'A GA4 event may have at most 200 parameters, a request at most 2000 parameters and 5000 keys.',
  },
  client_id_missing: { status: 400, message: 'client_id is required.' },
  not_found: { status: 404, message: 'Route not found.' },
  method_not_allowed: { status: 405, message: 'Method not allowed; Allow lists those that are.' },
  domain_malformed: { status: 400, message: 'domain must be a host name, not an IP address.' },
  domain_unverified: { status: 404, message: 'No site has verified the domain.' },
  body_too_large: {
    status: 413,
    message: 'The body is too large, compressed or decompressed; our own routes accept 256 KiB.',
  },
  events_too_many: { status: 413, message: REJECTIONS.events_too_many },
  content_type_unsupported: { status: 415, message: 'Send application/json, or text/plain containing JSON.' },
  compression_unsupported: { status: 400, message: 'lz64 is not supported; send gzip, base64 or JSON.' },
  content_encoding_unsupported: {
    status: 415,
    message: 'Content-Encoding must be gzip, deflate, br, zstd or identity.',
  },
  body_undecodable: { status: 400, message: 'The body cannot be decompressed.' },
  body_too_complex: { status: 400, message: 'The body is nested too deeply or has too many values.' },
  body_not_json: { status: 400, message: 'The body is not JSON in UTF-8.' },
  request_malformed: { status: 400, message: 'Malformed request, or a missing or duplicate Host header.' },
  events_rejected: { status: 400, message: 'All events of the request were rejected.' },
  body_not_calls: { status: 400, message: 'The body must contain at least one call.' },
  calls_too_many: { status: 413, message: 'A batch may have at most 2500 calls.' },
  inventory_not_object: { status: 400, message: REJECTIONS.body_not_object },
  page_invalid: { status: 400, message: 'page must be a string of 1 to 2048 characters.' },
  url_invalid: { status: 400, message: 'url must be a string of 1 to 2048 characters.' },
  title_invalid: { status: 400, message: 'title must be a string of at most 1000 characters.' },
  elements_invalid: { status: 400, message: 'elements must be an array.' },
  elements_too_many: { status: 413, message: 'elements must hold at most 300 elements.' },
  element_invalid: {
    status: 400,
    message:
      'An element must have type, selector and text, and may have href and event_hint, all of them strings of a sensible length.',
  },
  engage_unknown: { status: 404, message: 'The site does not have a survey, promo or form with this id.' },
  form_invalid: { status: 400, message: 'Some fields are invalid; see fields.' },
  engage_invalid: { status: 400, message: 'A field is missing or invalid; see field.' },
  allowance_exhausted: { status: 402, message: "The account's monthly event quota is used up; nothing was stored." },
  rate_limited: { status: 429, message: 'Too many requests. Retry after the seconds in Retry-After.' },
  internal: { status: 500, message: 'Internal error. Events may not have been stored; retry.' },
  overloaded: { status: 503, message: 'The service is overloaded. Retry with the same events later.' },
  not_acknowledged: { status: 503, message: 'The events may not have been stored. Retry with the same events.' },
  not_taken_now: {
    status: 503,
    message: 'Nothing was stored: the monthly quota is used up or the site blocks it. Retry later.',
  },
  script_not_configured: {
    status: 404,
    message: 'This platform is not configured for browsers of the site, or with another id.',
  },
  script_not_built: { status: 503, message: 'The script could not be built; see the log of this edge.' },
} as const;
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
      errors.saw(error, request.routeOptions.url);
    } catch (second) {
      errors.saw(second, request.routeOptions.url);
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
