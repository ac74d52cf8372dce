import { isCurrency } from '#services/local/platforms/meta.ts';
import { isRecord, textOf } from '#services/local/platforms/standin.ts';
import {
  type Check,
  fieldFault,
  isDigest,
  isListOf,
  isNumber,
  isObjectOf,
  isOneOf,
  isText,
  isWhole,
  missingFault,
} from './checks.ts';
import { bearerToken, jsonAnswer, jsonStandin } from './json_platform.ts';

const TYPES = 'PAGE_VISIT VIEW_CONTENT SEARCH ADD_TO_CART ADD_TO_WISHLIST PURCHASE LEAD SIGN_UP CUSTOM'.split(' ');
const AGE_MAX_MS = 168 * 3_600_000;

const USER: Record<string, Check> = {
  email: isDigest,
  phone_number: isDigest,
  external_id: isDigest,
  ip_address: isDigest,
  user_agent: isText,
  uuid: isText,
  data_processing_options: isObjectOf({
    modes: isListOf(isOneOf(['LDU'])),
    country: (value) => typeof value === 'string' && /^[A-Z]{2}$/.test(value),
    region: isText,
  }),
};

const EVENT: Record<string, Check> = {
  event_at: isWhole,
  action_source: isOneOf(['WEBSITE', 'APP', 'OFFLINE', 'OTHER']),
  type: isObjectOf({ tracking_type: isOneOf(TYPES), custom_event_name: isText }),
  click_id: isText,
  user: isObjectOf(USER),
  metadata: isObjectOf({
    conversion_id: isText,
    value: isNumber,
    currency: isCurrency,
    item_count: isNumber,
    products: isListOf(isObjectOf({ id: isText, name: isText, category: isText })),
  }),
};

function eventFault(event: Record<string, unknown>, nowMs: number): string | null {
  const fault = fieldFault(event, EVENT) ?? missingFault(event, ['event_at', 'action_source', 'type']);
  if (fault !== null) return fault;
  const ageMs = nowMs - Number(event['event_at']);
  if (ageMs > AGE_MAX_MS) return 'event_at timestamp must be less than 168h0m0s old';
  if (ageMs < -60_000) return 'event_at lies in the future';
  const type = isRecord(event['type']) ? event['type'] : {};
  if ((type['tracking_type'] === 'CUSTOM') !== 'custom_event_name' in type) return 'custom_event_name';
  const user = isRecord(event['user']) ? event['user'] : {};
  const isKnown = ['email', 'phone_number', 'external_id', 'ip_address', 'uuid'].some((key) => key in user);
  return isKnown || 'click_id' in event ? null : 'nothing to match by';
}

const said = (status: number, message: string, fields: object[] = []) =>
  jsonAnswer(status, { error: { code: status, message, fields } });

/** A stand-in for Reddit's Conversions API: `POST /api/v3/pixels/{id}/conversion_events`. */
export const standin = jsonStandin({
  keyWindowMs: Number.POSITIVE_INFINITY,
  path: /^\/api\/v3\/pixels\/(\w+)\/conversion_events$/,
  tokenOf: bearerToken,
  eventsOf: ({ body }) => {
    const data = isRecord(body['data']) && Object.keys(body).length === 1 ? body['data'] : {};
    return Array.isArray(data['events']) && Object.keys(data).length === 1 ? data['events'] : null;
  },
  eventsMax: 1000,
  bytesMax: 10_000_000,
  eventFault: (event, _request, nowMs) => eventFault(event, nowMs),
  identify: (event) => {
    const metadata = isRecord(event['metadata']) ? event['metadata'] : {};
    const type = isRecord(event['type']) ? event['type'] : {};
    const id = textOf(metadata['conversion_id']);
    const name = textOf(type['custom_event_name'] ?? type['tracking_type']);
    return { key: [name, id], id, name };
  },
  accepted: (count) => jsonAnswer(200, { data: { message: `Successfully processed ${count} conversion events.` } }),
  refusal: (status, message) => said(status, message),
  refused: (faults) => {
    const fields = [...faults].map(([place, message]) => ({ field: `data.events[${place}]`, message }));
    return said(400, 'Invalid request.', fields);
  },
  retryHeader: 'x-ratelimit-reset',
});
