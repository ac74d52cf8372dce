import { isIP } from 'node:net';
import { isCurrency } from './currency.ts';
import { isRecord } from './json.ts';

/** Why Meta refuses an event, and with it the request. */
export interface EventFault {
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
export function eventFault(event: unknown, nowMs: number): EventFault | null {
  if (!isRecord(event)) return fault('an event must be an object', 2804016);
  const name = event['event_name'];
  if (typeof name !== 'string' || name.trim() === '') return fault('event_name is required', 2804016);
  return timeFault(event, nowMs) ?? sourceFault(event) ?? userFault(event['user_data']) ?? customFault(event);
}
