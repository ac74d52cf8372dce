import { isCurrency } from '#services/local/platforms/meta.ts';
import { isRecord } from '#services/local/platforms/standin.ts';
import {
  type Check,
  fieldFault,
  isAddress,
  isDecimalText,
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
import { bearerToken, byNameAndId, type Faults, jsonAnswer, jsonStandin, type Problem } from './json_platform.ts';

const NAMES: readonly string[] = [
  ...'add_payment_info add_to_cart add_to_wishlist app_install app_open checkout contact custom customize_product'.split(
    ' ',
  ),
  ...'find_location initiate_checkout lead page_visit schedule search signup start_trial submit_application'.split(' '),
  ...'subscribe view_category view_content watch_video'.split(' '),
];

const HASHED = ['em', 'ph', 'ge', 'db', 'ln', 'fn', 'ct', 'st', 'zp', 'country', 'external_id'];
const USER: Record<string, Check> = {
  ...Object.fromEntries(HASHED.map((key) => [key, isListOf(isDigest)])),
  client_ip_address: isAddress,
  client_user_agent: isText,
  click_id: isText,
};

const CONTENT: Record<string, Check> = {
  id: isText,
  item_name: isText,
  item_brand: isText,
  item_category: isText,
  item_price: isDecimalText,
  quantity: isWhole,
};

const CUSTOM: Record<string, Check> = {
  value: isDecimalText,
  currency: isCurrency,
  order_id: isText,
  contents: isListOf(isObjectOf(CONTENT)),
  content_ids: isListOf(isText),
  content_name: isText,
  content_category: isText,
  num_items: isNumber,
  search_string: isText,
  opt_out_type: isText,
};

const EVENT: Record<string, Check> = {
  event_name: isOneOf(NAMES),
  event_time: isWhole,
  event_id: isText,
  action_source: isOneOf(['web', 'app_android', 'app_ios', 'offline']),
  event_source_url: isWebAddress,
  opt_out: isFlag,
  language: (value) => typeof value === 'string' && /^[a-z]{2}$/.test(value),
  user_data: isObjectOf(USER),
  custom_data: isObjectOf(CUSTOM),
};

function eventFault(event: Record<string, unknown>, nowMs: number): string | null {
  const fault =
    fieldFault(event, EVENT) ??
    missingFault(event, ['event_name', 'event_time', 'event_id', 'action_source', 'user_data']) ??
    timeFault(event['event_time'], 7, nowMs);
  if (fault !== null) return fault;
  const user = isRecord(event['user_data']) ? event['user_data'] : {};
  return 'em' in user || ('client_ip_address' in user && 'client_user_agent' in user) ? null : 'nothing to match by';
}

function processed(faults: Faults, count: number): object {
  const events = Array.from({ length: count }, (_, place) =>
    faults.has(place)
      ? { status: 'failed', error_message: faults.get(place), warning_message: null }
      : { status: 'processed', error_message: null, warning_message: null },
  );
  return { num_events_received: count, num_events_processed: count - faults.size, events };
}

const CODES: Record<Problem, number> = { path: 0, account: 50, token: 2, form: 1, size: 1, throttle: 8 };

/** A stand-in for Pinterest's API for Conversions: `POST /v5/ad_accounts/{id}/events`, which judges each event by itself. */
export const standin = jsonStandin({
  keyWindowMs: Number.POSITIVE_INFINITY,
  path: /^\/v5\/ad_accounts\/(\d+)\/events$/,
  tokenOf: bearerToken,
  eventsOf: ({ body }) => (Array.isArray(body['data']) && Object.keys(body).length === 1 ? body['data'] : null),
  eventsMax: 1000,
  bytesMax: 10_000_000,
  eventFault: (event, _request, nowMs) => eventFault(event, nowMs),
  identify: byNameAndId('event_name', 'event_id'),
  accepted: (count) => jsonAnswer(200, processed(new Map(), count)),
  refusal: (status, message, problem) => jsonAnswer(status, { code: CODES[problem], message }),
  refused: (faults, count) =>
    jsonAnswer(422, { code: 1, message: 'Not all events were processed.', details: processed(faults, count) }),
  takesOthers: true,
  retryHeader: 'x-ratelimit-reset',
});
