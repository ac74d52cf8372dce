import {
  isRecord,
  type PlatformAnswer,
  type PlatformRequest,
  readJson,
  textOf,
} from '#services/local/platforms/standin.ts';
import {
  type Check,
  fieldFault,
  isAddress,
  isDigest,
  isListOf,
  isNumber,
  isObjectOf,
  isOneOf,
  isText,
} from './checks.ts';
import { type JsonRequest, jsonAnswer, jsonStandin } from './json_platform.ts';

const HOURS_MAX = 72;
const RESERVED =
  /^(_|firebase_|ga_|google_|gtag\.)|^(ad_activeview|ad_click|ad_exposure|ad_impression|ad_query|adunit_exposure|app_clear_data|app_install|app_remove|app_update|error|first_open|first_visit|in_app_purchase|notification_(dismiss|foreground|open|receive)|os_update|screen_view|session_start|user_engagement)$/;
const LONG: ReadonlyMap<string, number> = new Map([
  ['page_title', 300],
  ['page_referrer', 420],
  ['page_location', 1000],
]);

const isName = (name: string, charactersMax: number): boolean =>
  /^[a-zA-Z]\w*$/.test(name) && name.length <= charactersMax && !/^(_|firebase_|ga_|google_|gtag\.)/.test(name);
const isShort =
  (charactersMax: number): Check =>
  (value) =>
    typeof value === 'string' && value !== '' && value.length <= charactersMax;
const isGrant = isOneOf(['GRANTED', 'DENIED']);
const isUserProperty: Check = (value) =>
  isRecord(value) && Object.keys(value).length === 1 && (isNumber(value['value']) || isShort(36)(value['value']));

const ADDRESS: Record<string, Check> = {
  sha256_first_name: isDigest,
  sha256_last_name: isDigest,
  sha256_street: isDigest,
  city: isText,
  region: isText,
  postal_code: isText,
  country: (value) => typeof value === 'string' && /^[A-Z]{2}$/.test(value),
};

const BODY: Record<string, Check> = {
  client_id: isText,
  user_id: isText,
  timestamp_micros: isNumber,
  user_properties: (value) =>
    isRecord(value) &&
    Object.keys(value).length <= 25 &&
    Object.entries(value).every(([name, one]) => isName(name, 24) && isUserProperty(one)),
  user_data: isObjectOf({
    sha256_email_address: isListOf(isDigest),
    sha256_phone_number: isListOf(isDigest),
    address: isListOf(isObjectOf(ADDRESS)),
  }),
  consent: isObjectOf({ ad_user_data: isGrant, ad_personalization: isGrant }),
  user_location: isObjectOf({
    city: isText,
    region_id: (value) => typeof value === 'string' && /^[A-Z]{2}-[A-Z0-9]{1,3}$/.test(value),
    country_id: (value) => typeof value === 'string' && /^[A-Z]{2}$/.test(value),
  }),
  ip_override: isAddress,
  user_agent: isText,
  validation_behavior: isOneOf(['RELAXED', 'ENFORCE_RECOMMENDATIONS']),
  events: Array.isArray,
};

const ITEM: Record<string, Check> = {
  item_id: isShort(100),
  item_name: isShort(100),
  item_brand: isShort(100),
  item_category: isShort(100),
  price: isNumber,
  quantity: isNumber,
  discount: isNumber,
  index: isNumber,
  ...Object.fromEntries(
    [
      ...[
        'affiliation',
        'coupon',
        'creative_name',
        'creative_slot',
        'item_category2',
        'item_category3',
        'item_category4',
      ],
      ...['item_category5', 'item_list_id', 'item_list_name', 'item_variant', 'location_id', 'promotion_id'],
      'promotion_name',
    ].map((name) => [name, isShort(100)]),
  ),
};
const CUSTOM_OF_ITEM_MAX = 10;

const isItem: Check = (value) => {
  if (!isRecord(value)) return false;
  const custom = Object.entries(value).filter(([name]) => !Object.hasOwn(ITEM, name));
  const known = Object.fromEntries(Object.entries(value).filter(([name]) => Object.hasOwn(ITEM, name)));
  const isCustom = ([name, one]: [string, unknown]): boolean =>
    isName(name, 40) && (isNumber(one) || isShort(100)(one));
  return isObjectOf(ITEM)(known) && custom.length <= CUSTOM_OF_ITEM_MAX && custom.every(isCustom);
};

function parameterFault([name, value]: [string, unknown]): string | null {
  if (!isName(name, 40)) return `${name} is no name`;
  if (name === 'items') return isListOf(isItem)(value) ? null : 'items are not valid';
  return isNumber(value) || isShort(LONG.get(name) ?? 100)(value) ? null : `${name} is not valid`;
}

function eventFault(event: Record<string, unknown>, nowMs: number): string | null {
  const { name, params, timestamp_micros: micros } = event;
  const fault = fieldFault(event, { name: isText, params: isRecord, timestamp_micros: isNumber });
  if (fault !== null) return fault;
  if (typeof name !== 'string' || !isName(name, 40) || RESERVED.test(name)) return 'the name is not allowed';
  const ageMs = typeof micros === 'number' ? nowMs - micros / 1000 : 0;
  if (ageMs > HOURS_MAX * 3_600_000 || ageMs < -60_000) return 'timestamp_micros is out of range';
  const given = isRecord(params) ? Object.entries(params) : [];
  if (given.length > 25) return 'there are too many params';
  return given.map(parameterFault).find((one) => one !== null) ?? null;
}

function eventsOf({ body }: JsonRequest): readonly unknown[] | null {
  const { client_id: clientId, events } = body;
  if (typeof clientId !== 'string' || fieldFault(body, BODY) !== null || !Array.isArray(events)) return null;
  return events;
}

/** What the platform would find fault with, which only its debug address tells. */
function validation(request: PlatformRequest, nowMs: number): PlatformAnswer {
  const value = readJson(request.body);
  const body = isRecord(value) ? value : {};
  const events = Array.isArray(body['events']) ? body['events'] : [];
  const faults = [
    fieldFault(body, BODY),
    ...events.map((event: unknown) => (isRecord(event) ? eventFault(event, nowMs) : 'not an object')),
  ];
  const validationMessages = faults
    .filter((fault) => fault !== null)
    .map((description) => ({ fieldPath: 'events', description, validationCode: 'VALUE_INVALID' }));
  return jsonAnswer(200, { validationMessages });
}

const taken = (): PlatformAnswer => ({ status: 204, body: '' });

/**
 * A stand-in for GA4's Measurement Protocol: `POST /mp/collect`. As there, every request is answered 204; what is not valid,
 * or carries a secret that is not the stream's, is dropped without a word, and a repetition counts again.
 */
export const standin = jsonStandin({
  keyWindowMs: -1,
  path: /^\/mp\/collect$/,
  scopeOf: (url) => url.searchParams.get('measurement_id') ?? '',
  tokenOf: ({ url }) => url.searchParams.get('api_secret'),
  eventsOf,
  eventsMax: 25,
  bytesMax: 130_000,
  eventFault: (event, _request, nowMs) => eventFault(event, nowMs),
  identify: (event, { body }) => {
    const params = isRecord(event['params']) ? event['params'] : {};
    const id = textOf(params['event_id']);
    const name = textOf(event['name']);
    return { key: [textOf(body['client_id']), name, id], id, name };
  },
  accepted: taken,
  refusal: (status, _message, problem) => (problem === 'path' || problem === 'size' ? { status, body: '' } : taken()),
  refused: taken,
  takesOthers: true,
  aside: (request, nowMs) =>
    request.path.startsWith('/debug/mp/collect') ? { scope: '@debug', answer: validation(request, nowMs) } : null,
});
