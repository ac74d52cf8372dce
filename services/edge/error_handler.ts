// What the server itself refuses: errors inside requests, unknown paths, wrong methods.
import {
  type HttpReply,
  type HttpRequestIn,
  type HttpServer,
  isRefusal,
  QUERY_WITHOUT_TYPE,
} from '#infra/http/http_server.ts';
import type { RequestErrors } from '#infra/http/request_errors.ts';
import { PayloadError, sentPath } from './body.ts';
import { type EdgeErrorCode, refuse } from './errors.ts';

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
type Answer = (code: EdgeErrorCode, request: HttpRequestIn, reply: HttpReply) => Promise<HttpReply>;

/**
 * Answers errors inside requests: those of the caller by `answer`, those that nobody foresaw by 500. Itself it never
 * throws, as the server's own answer would quote the error.
 */
export function errorHandler(errors: RequestErrors, refuse: Refuse, answer: Answer) {
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

/** The methods of the routes there are. */
interface Methods {
  /** Of a path, sorted, OPTIONS among them; undefined for an unknown path. */
  of(path: string): string[] | undefined;
}

/**
 * Answers what no route takes: OPTIONS on any path, an unknown path, and a known path with a method it does not have. It
 * knows the routes that are added after it.
 */
export function answerUnrouted(app: HttpServer, errors: RequestErrors): void {
  const methods = watchMethods(app);
  const unrouted = (request: HttpRequestIn, reply: HttpReply): HttpReply => {
    const allowed = methods.of(sentPath(request));
    if (allowed === undefined) return refuse(reply, 'not_found');
    return refuse(reply.header('allow', allowed.join(', ')), 'method_not_allowed');
  };
  app.options('*', (request, reply) => {
    const allowed = methods.of(sentPath(request));
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

/** Notes the methods of every route added from here on, so that a wrong one is told from an unknown path. */
function watchMethods(app: HttpServer): Methods {
  const known = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = known.get(url) ?? new Set(['OPTIONS']);
    for (const one of [method].flat()) methods.add(one);
    known.set(url, methods);
  });
  return {
    of(path) {
      const methods = known.get(path);
      return methods === undefined ? undefined : [...methods].sort();
    },
  };
}
