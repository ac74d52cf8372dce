import { REJECTIONS } from '#pipelines/intake/rejections.ts';

/** Every code an answer of the edge may carry, with its status and message. docs/errors.md repeats the table. */
export const EDGE_ERRORS = {
  key_missing: { status: 401, message: 'Send the key in the X-Svc-Key header or the key query parameter.' },
  key_invalid: { status: 403, message: 'The key is not known.' },
  key_revoked: { status: 403, message: 'The key was revoked.' },
  key_expired: { status: 403, message: 'The key has expired.' },
  key_not_for_browsers: { status: 403, message: 'A server key must not be used from a browser.' },
  origin_not_allowed: { status: 403, message: "The origin is not on the key's allow-list." },
  not_found: { status: 404, message: 'There is no such route.' },
  body_too_large: { status: 413, message: 'The body must not exceed 256 KiB after decompression.' },
  events_too_many: { status: 413, message: REJECTIONS.events_too_many },
  content_type_unsupported: { status: 415, message: 'Send application/json, or text/plain that holds JSON.' },
  content_encoding_unsupported: { status: 415, message: 'Content-Encoding must be gzip, deflate, br or identity.' },
  body_undecodable: { status: 400, message: 'The body does not decompress.' },
  body_not_json: { status: 400, message: 'The body is not JSON in UTF-8.' },
  request_malformed: { status: 400, message: 'The request cannot be read.' },
  events_rejected: { status: 400, message: 'No event of the batch could be accepted.' },
  overloaded: { status: 503, message: 'Too much is waiting; send the same events again later.' },
  not_acknowledged: { status: 503, message: 'The events could not be stored for certain; send the same events again.' },
} as const;
export type EdgeErrorCode = keyof typeof EDGE_ERRORS;

/** Seconds a client should wait after a 503. */
export const RETRY_AFTER_S = 2;

export interface ErrorAnswer {
  status: number;
  body: { error: { code: string; message: string } };
}

export function errorAnswer(code: EdgeErrorCode): ErrorAnswer {
  const { status, message } = EDGE_ERRORS[code];
  return { status, body: { error: { code, message } } };
}
