import { isRefusal, QUERY_WITHOUT_TYPE } from '#infra/http/server.ts';
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
  ECONNRESET: 'request_malformed',
  ECONNABORTED: 'request_malformed',
};

/** The answer to an error of the server's; null: nobody foresaw it, and the process must not go on. */
export function faultOf(error: unknown): EdgeErrorCode | null {
  if (error instanceof PayloadError) return error.code;
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string' && Object.hasOwn(CALLER_FAULTS, code)) return CALLER_FAULTS[code] ?? null;
  // A refusal that a later version of the server brings must not end the process.
  return isRefusal(error) ? 'request_malformed' : null;
}
