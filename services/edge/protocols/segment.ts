// Segment's HTTP Tracking API, which RudderStack's libraries speak too.

import {
  contextOf,
  destinationFlags,
  mapSegmentCall,
  SEGMENT_CALLS,
  type SegmentCall,
  withContext,
} from '#pipelines/intake/compat/segment.ts';
import { sharedProblem } from '#pipelines/intake/json_text.ts';
import { readSentAt } from '#pipelines/intake/timestamp.ts';
import { isObject } from '#pipelines/privacy/clean_properties.ts';
import { type EdgeErrorCode, errorAnswer, PayloadError } from '../errors.ts';
import type { CompatProtocol, ProtocolAnswer, ProtocolRequest, RefusedCall, Stored } from './compat.ts';

/** Segment's HTTP Tracking API page: 500 kB a request, 32 kB a call, 2,500 calls; beyond them it answers 400. */
const BODY_BYTES_MAX = 500 * 1024;
const CALL_BYTES_MAX = 32 * 1024;
const CALLS_MAX = 2_500;

/** The routes of single calls, as `/v1/track`; the short ones, as `/v1/t`, are the browser library's. */
export const SEGMENT_CALL_PATHS: Readonly<Record<string, SegmentCall>> = Object.fromEntries(
  SEGMENT_CALLS.flatMap((call) => [`/v1/${call}`, `/v1/${call.charAt(0)}`].map((path) => [path, call])),
);

/**
 * RudderStack's library for Node, and Segment's up to version 6. What is refused they throw where nothing catches it, unless
 * they were given an error handler: a program would end because its month is used up.
 */
const THROWS = /^analytics-node\//;

export const segment: CompatProtocol = {
  paths: ['/v1/batch', '/v1/b', ...Object.keys(SEGMENT_CALL_PATHS)],
  bodyBytesMax: BODY_BYTES_MAX,
  callsMax: CALLS_MAX,
  keyOfHeaders: basicUser,
  keyPlaces: [['writeKey']],
  read: readRequest,
  accepted,
  refused,
};

/** The write key is the user of Basic authentication; there is no password. */
function basicUser(authorization: string | undefined): string | null {
  const [, encoded] = /^basic\s+([A-Za-z0-9+/_=-]+)\s*$/i.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return null;
  const [user = ''] = Buffer.from(encoded, 'base64').toString('latin1').split(':');
  return user === '' ? null : user;
}

function readRequest(path: string, body: unknown): ProtocolRequest {
  if (!isObject(body)) throw new PayloadError('body_not_calls');
  const type = SEGMENT_CALL_PATHS[path] ?? null;
  const calls = type === null ? body['batch'] : [body];
  if (!Array.isArray(calls) || calls.length === 0) throw new PayloadError('body_not_calls');
  const ofBatch = destinationFlags(body['integrations']);
  const context = type === null ? contextOf(body['context']) : {};
  const problem = sharedProblem(context, calls.length);
  if (problem !== null) throw new PayloadError(`body_${problem}`);
  return {
    calls,
    sentAtMs: readSentAt(body['sentAt']),
    map: (call, arrival) => {
      const whole = withContext(call, context);
      if (bytesOf(whole) > CALL_BYTES_MAX) return { ok: false, code: 'call_too_large' };
      return mapSegmentCall(whole, type, arrival, ofBatch);
    },
  };
}

function bytesOf(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    // Nested so deeply that it can be read, but not written again.
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * Its libraries tell their callers of nothing that a 200 says. A request of which nothing was stored fails, with a status
 * they give to error handlers and callbacks and do not try again; one of which something was says how much was not.
 */
function accepted({ accepted: stored, dropped }: Stored, userAgent: string | null): ProtocolAnswer {
  if (dropped === 0) return { status: 200, body: { success: true } };
  const isFailure = stored === 0 && !THROWS.test(userAgent ?? '');
  return isFailure ? refused('allowance_exhausted', []) : { status: 200, body: { success: true, dropped } };
}

/** What is too large has 400 there, which its libraries do not send again. */
function refused(code: EdgeErrorCode, calls: readonly RefusedCall[]): ProtocolAnswer {
  const { status, body } = errorAnswer(code);
  return {
    status: status === 413 ? 400 : status,
    body: { success: false, ...body.error, ...(calls.length === 0 ? {} : { rejected: calls }) },
  };
}
