import { isCurrency } from '#services/local/platforms/meta.ts';
import { isRecord, textOf } from '#services/local/platforms/standin.ts';
import {
  type Check,
  fieldFault,
  isAddress,
  isDigest,
  isFlag,
  isListOf,
  isNumber,
  isObjectOf,
  isOneOf,
  isText,
  isWebAddress,
  isWhole,
  missingFault,
  timeFault,
} from './checks.ts';
import { byNameAndId, type JsonRequest, jsonAnswer, jsonStandin, type Problem } from './json_platform.ts';

const SOURCES = ['web', 'app', 'offline', 'crm'];
const HOUR_MS = 3_600_000;

const isPlainPlace: Check = (value) => typeof value === 'string' && /^[\p{Ll}\p{Lo}\p{M}\p{N}]+$/u.test(value);

/** One value or a list of them. */
const isDigests: Check = (value) => isDigest(value) || isListOf(isDigest)(value);

const USER: Record<string, Check> = {
  email: isDigests,
  phone: isDigests,
  external_id: isDigests,
  first_name: isDigest,
  last_name: isDigest,
  zip_code: isDigest,
  city: isPlainPlace,
  state: isPlainPlace,
  country: isPlainPlace,
  ttclid: isText,
  ttp: isText,
  ip: isAddress,
  user_agent: isText,
  locale: isText,
};

const CONTENT: Record<string, Check> = {
  price: isNumber,
  quantity: isWhole,
  content_id: isText,
  content_name: isText,
  content_category: isText,
  brand: isText,
};

const PROPERTIES: Record<string, Check> = {
  value: isNumber,
  currency: isCurrency,
  order_id: isText,
  contents: isListOf(isObjectOf(CONTENT)),
  content_type: isOneOf(['product', 'product_group']),
  content_ids: isListOf(isText),
  num_items: isNumber,
  query: isText,
  search_string: isText,
  description: isText,
  shop_id: isText,
};

const EVENT: Record<string, Check> = {
  event: isText,
  event_time: isWhole,
  event_id: isText,
  user: isObjectOf(USER),
  page: isObjectOf({ url: isWebAddress, referrer: isWebAddress }),
  properties: isObjectOf(PROPERTIES),
  lead: isObjectOf({ lead_id: isText, lead_event_source: isText }),
  limited_data_use: isFlag,
};

const body = (code: number, message: string, data: object = {}): object => {
  return { code, message, request_id: '20260310120000010203040506', data };
};
/** TikTok says nearly everything with HTTP status 200. */
const said = (code: number, message: string, data: object = {}) => jsonAnswer(200, body(code, message, data));
const [path, account, token, form, throttle] = [40_006, 40_001, 40_105, 40_002, 40_100];
const CODES: Record<Problem, number> = { path, account, token, form, size: form, throttle };

function eventFault(event: Record<string, unknown>, { body }: JsonRequest, nowMs: number): string | null {
  const isWeb = body['event_source'] === 'web';
  const { user, properties } = event;
  const fault =
    fieldFault(event, EVENT) ??
    missingFault(event, ['event', 'event_time', 'user']) ??
    timeFault(event['event_time'], isWeb ? 7 : 28, nowMs);
  if (fault !== null) return fault;
  if (!isWeb && 'page' in event) return 'page is for the web';
  if (isRecord(user) && !['email', 'phone', 'external_id', 'ttclid', 'ttp', 'ip'].some((key) => key in user))
    return 'user has nothing to match by';
  const isPriced = isRecord(properties) && 'value' in properties && 'currency' in properties;
  return event['event'] === 'Purchase' && !isPriced ? 'a purchase needs value and currency' : null;
}

function eventsOf({ body }: JsonRequest): readonly unknown[] | null {
  const { event_source: source, event_source_id: id, test_event_code: testCode, data } = body;
  if (typeof source !== 'string' || !SOURCES.includes(source) || !isText(id) || !Array.isArray(data)) return null;
  const known = ['event_source', 'event_source_id', 'test_event_code', 'partner_name', 'data'];
  if (!Object.keys(body).every((key) => known.includes(key))) return null;
  return testCode !== undefined && data.length > 1 ? null : data;
}

/** A stand-in for TikTok's Events API 2.0: `POST /open_api/v1.3/event/track/`. */
export const standin = jsonStandin({
  keyWindowMs: 48 * HOUR_MS,
  path: /^\/open_api\/v1\.3\/event\/track\/$/,
  scopeOf: (_url, body) => textOf(body['event_source_id']),
  tokenOf: ({ request }) => request.headers['access-token'] ?? null,
  eventsOf,
  eventsMax: 1000,
  bytesMax: 1_000_000,
  eventFault,
  identify: byNameAndId('event', 'event_id'),
  accepted: () => said(0, 'OK'),
  refusal: (status, message, problem) =>
    jsonAnswer(problem === 'path' || problem === 'size' ? status : 200, body(CODES[problem], message)),
  refused: (faults, count) => {
    const failed_events = [...faults].map(([order_in_batch, error_msg]) => ({ order_in_batch, error_msg }));
    return faults.size === count
      ? said(40_002, 'Invalid parameters.')
      : said(20_001, 'Partial success', { failed_events });
  },
  takesOthers: true,
  retryHeader: 'retry-after',
});
