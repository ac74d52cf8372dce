import { isCurrency } from '#services/local/platforms/meta.ts';
import { isRecord } from '#services/local/platforms/standin.ts';
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
  isWebAddress,
  isWhole,
  missingFault,
  timeFault,
} from './checks.ts';
import { byNameAndId, jsonAnswer, jsonStandin } from './json_platform.ts';

const NAMES: readonly string[] = [
  ...'PAGE_VIEW VIEW_CONTENT ADD_CART ADD_TO_WISHLIST SIGN_UP SEARCH PURCHASE ADD_BILLING COMPLETE_TUTORIAL'.split(' '),
  ...'SUBSCRIBE AD_CLICK AD_VIEW START_CHECKOUT RATE LIST_VIEW ADD_TO_CART LEVEL_COMPLETE ACHIEVEMENT_UNLOCKED'.split(
    ' ',
  ),
  ...'SPEND_CREDITS SAVE SHARE INVITE LOGIN RESERVE START_TRIAL'.split(' '),
  ...[1, 2, 3, 4, 5].map((number) => `CUSTOM_EVENT_${number}`),
];

const USER: Record<string, Check> = {
  em: isListOf(isDigest),
  ph: isListOf(isDigest),
  external_id: isListOf(isDigest),
  fn: isDigest,
  ln: isDigest,
  ct: isDigest,
  st: isDigest,
  zp: isDigest,
  country: isDigest,
  client_ip_address: isAddress,
  client_user_agent: isText,
  sc_click_id: isText,
  sc_cookie1: isText,
};

const CUSTOM: Record<string, Check> = {
  value: isNumber,
  currency: isCurrency,
  order_id: isText,
  contents: isListOf(isObjectOf({ id: isText, quantity: isWhole, item_price: isNumber, brand: isText })),
  content_ids: isListOf(isText),
  content_category: isText,
  num_items: isNumber,
  search_string: isText,
};

const EVENT: Record<string, Check> = {
  event_name: isOneOf(NAMES),
  event_time: isWhole,
  event_id: isText,
  action_source: isOneOf(['WEB', 'MOBILE_APP', 'OFFLINE']),
  event_source_url: isWebAddress,
  user_data: isObjectOf(USER),
  custom_data: isObjectOf(CUSTOM),
  data_processing_options: isListOf(isOneOf(['LMU'])),
};

function eventFault(event: Record<string, unknown>, nowMs: number): string | null {
  const fault =
    fieldFault(event, EVENT) ??
    missingFault(event, ['event_name', 'event_time', 'action_source', 'user_data']) ??
    timeFault(event['event_time'], 37, nowMs);
  if (fault !== null) return fault;
  const user = isRecord(event['user_data']) ? event['user_data'] : {};
  const isKnown = ['em', 'ph', 'external_id', 'sc_click_id', 'sc_cookie1'].some((key) => key in user);
  return isKnown || ('client_ip_address' in user && 'client_user_agent' in user) ? null : 'nothing to match by';
}

const said = (status: number, reason: string, error_records: object[] = []) =>
  jsonAnswer(status, { status: 'INVALID', reason, error_records });

/** A stand-in for Snapchat's Conversions API: `POST /v3/{pixel}/events?access_token=`. */
export const standin = jsonStandin({
  keyWindowMs: 48 * 3_600_000,
  path: /^\/v3\/([^/]+)\/events$/,
  tokenOf: ({ url }) => url.searchParams.get('access_token'),
  eventsOf: ({ body }) => (Array.isArray(body['data']) && Object.keys(body).length === 1 ? body['data'] : null),
  eventsMax: 2000,
  bytesMax: 10_000_000,
  eventFault: (event, _request, nowMs) => eventFault(event, nowMs),
  identify: byNameAndId('event_name', 'event_id'),
  accepted: () => jsonAnswer(200, { status: 'VALID', reason: 'All events were processed.' }),
  refusal: (status, reason, problem) => said(problem === 'account' ? 403 : status, reason),
  refused: (faults) => {
    const records = [...faults].map(([place, reason]) => ({ reason, record_indexes: [place] }));
    return said(400, 'The request has invalid records.', records);
  },
});
