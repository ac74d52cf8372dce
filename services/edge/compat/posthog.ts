import { isObject, objectOr } from '#pipelines/intake/compat/foreign.ts';
import type { KeyPlaces } from '#pipelines/intake/compat/outline.ts';
import { mapPosthogEvent } from '#pipelines/intake/compat/posthog.ts';
import { readSentAt } from '#pipelines/intake/timestamp.ts';
import { type EdgeErrorCode, errorAnswer } from '#services/edge/errors.ts';
import type { Dialect, DialectAnswer, ForeignRequest, RefusedCall } from './dialect.ts';

/** PostHog takes 20 MB; its libraries send up to 5 MiB, and posthog-node halves its batches when told that one is too large. */
const BODY_BYTES_MAX = 5 * 1024 * 1024;
const CALLS_MAX = 2_500;

/** The project's key: beside the events, or in the properties of the first as the browser library has it. */
export const POSTHOG_KEY_PLACES: KeyPlaces = [['api_key'], ['token'], ['properties', 'token']];

/** PostHog's capture API. */
export const posthog: Dialect = {
  paths: ['/batch', '/batch/', '/e', '/e/', '/capture', '/capture/', '/i/v0/e', '/i/v0/e/', '/track', '/track/'],
  bodyBytesMax: BODY_BYTES_MAX,
  callsMax: CALLS_MAX,
  keyOfHeaders: () => null,
  keyPlaces: POSTHOG_KEY_PLACES,
  read: readRequest,
  accepted: ({ dropped }) => ({
    status: 200,
    body: dropped === 0 ? { status: 1 } : { status: 1, quota_limited: ['events'] },
  }),
  refused: (code, calls) => posthogRefusal(code, calls),
};

function readRequest(_path: string, body: unknown, query: Readonly<Record<string, unknown>>): ForeignRequest {
  const calls = callsOf(body);
  if (calls === null || calls.length === 0) return { ok: false, code: 'body_not_calls' };
  return {
    ok: true,
    calls,
    sentAtMs: readSentAt(objectOr(body)['sent_at']) ?? querySentAt(query),
    map: mapPosthogEvent,
  };
}

function callsOf(body: unknown): readonly unknown[] | null {
  if (Array.isArray(body)) return body;
  if (!isObject(body)) return null;
  if (Array.isArray(body['batch'])) return body['batch'];
  return body['event'] === undefined ? null : [body];
}

/** The browser library says when it sent in the query, in milliseconds. */
function querySentAt(query: Readonly<Record<string, unknown>>): number | null {
  const sent = query['_'];
  return typeof sent === 'string' && /^\d{1,14}$/.test(sent) ? readSentAt(Number(sent)) : null;
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'authentication_error',
  429: 'throttled_error',
  500: 'server_error',
  503: 'server_error',
};

/** An error as PostHog's API writes them. */
export function posthogRefusal(code: EdgeErrorCode, calls: readonly RefusedCall[]): DialectAnswer {
  const { status, body } = errorAnswer(code);
  const { message: detail } = body.error;
  return {
    status,
    body: {
      type: TYPES[status] ?? 'validation_error',
      code,
      detail,
      attr: null,
      ...(calls.length === 0 ? {} : { rejected: calls }),
    },
  };
}
