import { isIP } from 'node:net';
import { isRecord, type PlatformAnswer, type PlatformRequest, readJson, textOf } from './acceptance_ledger.ts';
import type { PlatformStandin, StandinOptions } from './standin.ts';

/** Meta's deduplication window for event_name and event_id on one pixel. */
const DEDUPLICATION_MS = 48 * 3_600_000;
const EVENTS_MAX = 1000;
const BODY_BYTES_MAX = 1_000_000;
const PATH = /^\/v\d+\.\d+\/(\d+)\/events(?:\?.*)?$/;

function graphError(code: number, message: string, subcode?: number, status = 400): PlatformAnswer {
  const error = {
    message,
    type: code === 190 || code === 100 ? 'OAuthException' : 'GraphMethodException',
    code,
    ...(subcode === undefined ? {} : { error_subcode: subcode }),
    is_transient: false,
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
export const standin: PlatformStandin = (options) => ({
  keyWindowMs: DEDUPLICATION_MS,
  scopeOf: (request) => ({ scope: pixelOf(request), token: tokenOf(request, parse(request.body)) }),
  answer: (request, nowMs) => answer(options, request, nowMs),
});

/** Why Meta refuses an event, and with it the request. */
interface EventFault {
  message: string;
  subcode: number;
}

const DAY_S = 86_400;
const ACTION_SOURCES = new Set([
  'email',
  'website',
  'app',
  'phone_call',
  'chat',
  'physical_store',
  'system_generated',
  'business_messaging',
  'other',
]);
const HASHED_KEYS = ['em', 'ph', 'fn', 'ln', 'ge', 'db', 'ct', 'st', 'zp', 'country', 'external_id'];
const TOO_BROAD = [
  ['ct', 'country', 'st', 'zp', 'ge', 'client_user_agent'],
  ['db', 'client_user_agent'],
  ['fn', 'ge'],
];

const fault = (message: string, subcode: number): EventFault => ({ message, subcode });

function timeFault(event: Record<string, unknown>, nowMs: number): EventFault | null {
  const time = event['event_time'];
  if (typeof time !== 'number' || !Number.isInteger(time)) return fault('event_time must be whole seconds', 2804016);
  const daysMax = event['action_source'] === 'physical_store' ? 62 : 7;
  const ageS = nowMs / 1000 - time;
  if (ageS > daysMax * DAY_S) return fault('event_time is too old', 2804003);
  return ageS < -60 ? fault('event_time lies in the future', 2804003) : null;
}

function isHashed(value: unknown): boolean {
  const values = Array.isArray(value) ? value : [value];
  return values.length > 0 && values.every((one) => typeof one === 'string' && /^[0-9a-f]{64}$/.test(one));
}

function userFault(user: unknown): EventFault | null {
  if (!isRecord(user) || Object.keys(user).length === 0) return fault('user_data is required', 2804007);
  const keys = Object.keys(user);
  if (TOO_BROAD.some((broad) => keys.every((key) => broad.includes(key)))) {
    return fault('not enough customer information', 2804007);
  }
  if (!HASHED_KEYS.filter((key) => key in user).every((key) => isHashed(user[key]))) {
    return fault('customer information must be hashed', 2804017);
  }
  const ip = user['client_ip_address'];
  if (ip !== undefined && (typeof ip !== 'string' || isIP(ip) === 0)) return fault('client_ip_address', 2804048);
  const click = user['fbc'];
  const isClick = click === undefined || (typeof click === 'string' && /^fb\.\d\.\d{10,16}\..+/.test(click));
  return isClick ? null : fault('fbc', 2804048);
}

function sourceFault(event: Record<string, unknown>): EventFault | null {
  const source = event['action_source'];
  if (typeof source !== 'string' || !ACTION_SOURCES.has(source)) return fault('action_source', 2804001);
  if (source !== 'website') return null;
  const url = event['event_source_url'];
  if (typeof url !== 'string' || !/^https?:\/\//.test(url)) return fault('event_source_url is required', 2804001);
  const user = event['user_data'];
  const agent = isRecord(user) ? user['client_user_agent'] : undefined;
  return typeof agent === 'string' && agent !== '' ? null : fault('client_user_agent is required', 2804001);
}

function customFault(event: Record<string, unknown>): EventFault | null {
  const custom = event['custom_data'] ?? {};
  if (!isRecord(custom)) return fault('custom_data', 2804019);
  const { value, currency } = custom;
  if (value !== undefined && typeof value !== 'number') return fault('value must be a number', 2804019);
  if (currency !== undefined && !isCurrency(currency)) {
    return fault('currency must be an ISO 4217 code', 2804019);
  }
  const isPurchase = event['event_name'] === 'Purchase';
  const isPriced = value !== undefined && currency !== undefined;
  return isPurchase && !isPriced ? fault('a purchase needs value and currency', 2804019) : null;
}

/**
 * What is wrong with an event by Meta's server event and customer information parameters pages; null when nothing is.
 * The subcodes are among those met in practice; which stands for what is documented for the time of an event alone.
 */
function eventFault(event: unknown, nowMs: number): EventFault | null {
  if (!isRecord(event)) return fault('an event must be an object', 2804016);
  const name = event['event_name'];
  if (typeof name !== 'string' || name.trim() === '') return fault('event_name is required', 2804016);
  return timeFault(event, nowMs) ?? sourceFault(event) ?? userFault(event['user_data']) ?? customFault(event);
}

const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));

export const isCurrency = (value: unknown): boolean => typeof value === 'string' && CURRENCIES.has(value);
