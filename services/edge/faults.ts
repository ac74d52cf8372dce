import { type HttpReply, type HttpRequestIn, isRefusal, QUERY_WITHOUT_TYPE } from '#infra/http/http_server.ts';
import type { RequestErrors } from '#services/request_errors.ts';
import type { EdgeErrorCode } from './errors.ts';
import { PayloadError } from './payload.ts';

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
export function faultHandler(errors: RequestErrors, refuse: Refuse, answer: Answer) {
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
