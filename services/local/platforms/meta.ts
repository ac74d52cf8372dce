import type { PlatformAnswer, PlatformRequest } from './http_exchange.ts';
import { isRecord, readJson, textOf } from './json.ts';
import { type EventFault, eventFault } from './meta_rules.ts';
import type { PlatformStandin } from './platform.ts';
import type { StandinOptions } from './standin.ts';

/** Meta's deduplication window for event_name and event_id on one pixel. */
const DEDUPLICATION_MS = 48 * 3_600_000;
const EVENTS_MAX = 1000;
const BODY_BYTES_MAX = 1_000_000;
const PATH = /^\/v\d+\.\d+\/(\d+)\/events(?:\?.*)?$/;

function graphError(code: number, message: string, subcode?: number, status = 400, transient = false): PlatformAnswer {
  const error = {
    message,
    type: code === 190 || code === 100 ? 'OAuthException' : 'GraphMethodException',
    code,
    ...(subcode === undefined ? {} : { error_subcode: subcode }),
    is_transient: transient,
    fbtrace_id: 'AStandinTrace',
  };
  return { status, body: JSON.stringify({ error }) };
}

function parse(text: string): Record<string, unknown> | null {
  const value = readJson(text);
  return isRecord(value) ? value : null;
}

function tokenOf(request: PlatformRequest, body: Record<string, unknown> | null): string | null {
  const inQuery = new URL(request.path, 'http://standin').searchParams.get('access_token');
  const inBody = body?.['access_token'];
  return typeof inBody === 'string' ? inBody : inQuery;
}

const pixelOf = (request: PlatformRequest): string => PATH.exec(request.path)?.[1] ?? '';

function accessFault(pixels: StandinOptions['accounts'], pixel: string, token: string | null): PlatformAnswer | null {
  if (token === null || token === '') return graphError(190, 'An access token is required.');
  if (pixels === null || pixels === undefined) return null;
  const tokens = pixels[pixel];
  if (tokens === undefined) return graphError(100, 'Unsupported post request.', 33);
  return tokens.includes(token) ? null : graphError(190, 'Error validating access token.', 460);
}

function batchFault(
  data: readonly unknown[],
  refusedIds: ReadonlySet<string> | undefined,
  nowMs: number,
): EventFault | null {
  for (const event of data) {
    const isRefused = isRecord(event) && refusedIds?.has(textOf(event['event_id'])) === true;
    const fault = isRefused ? { message: 'As told.', subcode: 2804019 } : eventFault(event, nowMs);
    if (fault !== null) return fault;
  }
  return null;
}

/** What the pixel of a page reports: `GET /tr/?id=PIXEL&ev=NAME&eid=EVENT_ID`, which is answered with an image. */
function acceptHit(request: PlatformRequest, nowMs: number): PlatformAnswer {
  const { searchParams } = new URL(request.path, 'http://standin');
  const [pixel = '', name = '', id = ''] = ['id', 'ev', 'eid'].map((field) => searchParams.get(field) ?? '');
  const accepted = [{ key: keyOf(pixel, name, id), event_id: id, event_name: name, scope: pixel, at: nowMs }];
  return { status: 200, headers: { 'content-type': 'image/gif' }, body: '', accepted };
}

/** By which Meta knows that the pixel and the server speak of the same event. */
const keyOf = (pixel: string, name: string, id: string): string => JSON.stringify([pixel, name, id]);

function accept(pixel: string, data: readonly unknown[], nowMs: number): PlatformAnswer {
  const accepted = data.filter(isRecord).map((event) => {
    const name = textOf(event['event_name']);
    const id = textOf(event['event_id']);
    return { key: keyOf(pixel, name, id), event_id: id, event_name: name, scope: pixel, at: nowMs };
  });
  const body = { events_received: data.length, messages: [], fbtrace_id: 'AStandinTrace' };
  return { status: 200, body: JSON.stringify(body), accepted };
}

function answer(options: StandinOptions, request: PlatformRequest, nowMs: number): PlatformAnswer {
  if (request.method === 'GET' && request.path.startsWith('/tr/?')) return acceptHit(request, nowMs);
  const pixel = pixelOf(request);
  if (request.method !== 'POST' || pixel === '') return graphError(2500, 'Unknown path components.');
  const body = parse(request.body);
  const refused = accessFault(options.accounts, pixel, tokenOf(request, body));
  if (refused !== null) return refused;
  const data = body?.['data'];
  if (!Array.isArray(data)) return graphError(100, 'The parameter data is required.');
  if (Buffer.byteLength(request.body) > BODY_BYTES_MAX)
    return graphError(1, 'Please reduce the amount of data.', undefined, 413);
  if (data.length === 0 || data.length > EVENTS_MAX) return graphError(100, 'Invalid number of events.', 2804019);
  const fault = batchFault(data, options.refusedIds, nowMs);
  return fault === null ? accept(pixel, data, nowMs) : graphError(100, fault.message, fault.subcode);
}

/**
 * A stand-in for Meta's Conversions API: `POST /vN.0/{pixel}/events`. As there, one event that is not valid refuses the
 * whole request. Hits of the pixel are counted with them, as Meta takes both for one event under one id.
 */
export const standin: PlatformStandin = {
  keyWindowMs: DEDUPLICATION_MS,
  platform: (options) => ({
    scopeOf: (request) => ({ scope: pixelOf(request), token: tokenOf(request, parse(request.body)) }),
    answer: (request, nowMs) => answer(options, request, nowMs),
    graphError: ({ code, subcode, status, is_transient }) =>
      graphError(code, 'As scripted.', subcode, status ?? 400, is_transient ?? false),
  }),
};
