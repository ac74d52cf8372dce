import { isIP } from 'node:net';
import {
  isRecord,
  type PlatformAnswer,
  type PlatformRequest,
  type PlatformStandin,
  readJson,
  type StandinOptions,
  textOf,
} from './standin.ts';

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

type Fields = Record<string, unknown>;

function parse(text: string): Fields | null {
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
const ACTION_SOURCES =
  'email website app phone_call chat physical_store system_generated business_messaging other'.split(' ');
const HASHED_KEYS = ['em', 'ph', 'fn', 'ln', 'ge', 'db', 'ct', 'st', 'zp', 'country', 'external_id'];
const TOO_BROAD = [
  ['ct', 'country', 'st', 'zp', 'ge', 'client_user_agent'],
  ['db', 'client_user_agent'],
  ['fn', 'ge'],
];

function isHashed(value: unknown): boolean {
  const values = Array.isArray(value) ? value : [value];
  return values.length > 0 && values.every((one) => typeof one === 'string' && /^[0-9a-f]{64}$/.test(one));
}

const recordOf = (value: unknown): Fields => (isRecord(value) ? value : {});

/**
 * What is wrong with an event by Meta's server event and customer information parameters pages; null when nothing is.
 * The subcodes are among those met in practice; which stands for what is documented for the time of an event alone.
 */
function eventFault(event: unknown, nowMs: number): EventFault | null {
  if (!isRecord(event)) return { message: 'an event must be an object', subcode: 2804016 };
  const { event_time: time, action_source: source } = event;
  const data = event['custom_data'] ?? {};
  const [name, url] = [textOf(event['event_name']), textOf(event['event_source_url'])];
  const user = recordOf(event['user_data']);
  const { client_user_agent: agent, client_ip_address: ip = '::', fbc = 'fb.1.0000000000.0' } = user;
  const { value = 0, currency = 'EUR' } = recordOf(data);
  const keys = Object.keys(user);
  const isWeb = source === 'website';
  const isPriced = ['value', 'currency'].every((key) => key in recordOf(data));
  const ageS = nowMs / 1000 - Number(time);
  const rules: readonly [isWrong: boolean, subcode: number, message: string][] = [
    [name.trim() === '', 2804016, 'event_name is required'],
    [!Number.isInteger(time), 2804016, 'event_time must be whole seconds'],
    [ageS > (source === 'physical_store' ? 62 : 7) * DAY_S, 2804003, 'event_time is too old'],
    [ageS < -60, 2804003, 'event_time lies in the future'],
    [!ACTION_SOURCES.includes(textOf(source)), 2804001, 'action_source'],
    [isWeb && !/^https?:\/\//.test(url), 2804001, 'event_source_url is required'],
    [isWeb && textOf(agent) === '', 2804001, 'client_user_agent is required'],
    [keys.length === 0, 2804007, 'user_data is required'],
    [TOO_BROAD.some((broad) => keys.every((key) => broad.includes(key))), 2804007, 'not enough customer information'],
    [
      !keys.every((key) => !HASHED_KEYS.includes(key) || isHashed(user[key])),
      2804017,
      'customer information must be hashed',
    ],
    [isIP(textOf(ip)) === 0, 2804048, 'client_ip_address'],
    [!/^fb\.\d\.\d{10,16}\..+/.test(textOf(fbc)), 2804048, 'fbc'],
    [!isRecord(data), 2804019, 'custom_data'],
    [typeof value !== 'number', 2804019, 'value must be a number'],
    [!isCurrency(currency), 2804019, 'currency must be an ISO 4217 code'],
    [name === 'Purchase' && !isPriced, 2804019, 'a purchase needs value and currency'],
  ];
  const [, subcode, message] = rules.find(([isWrong]) => isWrong) ?? [];
  return subcode === undefined || message === undefined ? null : { message, subcode };
}

const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));

export const isCurrency = (value: unknown): boolean => typeof value === 'string' && CURRENCIES.has(value);
