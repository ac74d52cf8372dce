import { clientAddress, clientUserAgent, isKnownByDevice } from '#pipelines/delivery/client_device.ts';
import type { MapContext } from '#pipelines/delivery/contract.ts';
import { happenedAtMs } from '#pipelines/delivery/event_time.ts';
import { hashedPlace } from '#pipelines/delivery/hashed_place.ts';
import { everyHash } from '#pipelines/delivery/matching_identifiers.ts';
import { oneOrList } from '#pipelines/delivery/present.ts';
import { firstId, firstText, type Properties, textOrParameter } from '#pipelines/delivery/properties.ts';
import type { Event, Identifiers } from '#schemas/event.ts';

export type UserData = Record<string, string | readonly string[]>;

const FBC = /^fb\.\d+\.\d{10,16}\.[^\s]+$/;
const FBP = /^fb\.\d+\.\d{10,16}\.\d+/;

/**
 * The click id: the cookie's value when the event carries it, else built from the click's parameter as
 * `fb.1.<milliseconds>.<fbclid>`. The case of fbclid is significant.
 */
function clickId(event: Event, properties: Properties): string | null {
  const cookie = firstText(properties, ['fbc', '_fbc', '$fbc']);
  if (cookie !== null && FBC.test(cookie)) return cookie;
  const parameter = textOrParameter(properties, ['fbclid', '$fbclid'], 'fbclid');
  return parameter === null ? null : `fb.1.${happenedAtMs(event)}.${parameter}`;
}

function browserId(properties: Properties): string | null {
  const cookie = firstText(properties, ['fbp', '_fbp', '$fbp']);
  return cookie !== null && FBP.test(cookie) ? cookie : null;
}

/** Ids that Meta or the advertiser gave out; Meta's page lists them under "do not hash". */
const PLAIN_IDS = ['subscription_id', 'lead_id', 'fb_login_id', 'ctwa_clid', 'page_id', 'madid', 'anon_id'];

/** The customer information parameters of an event, those that are absent left out. */
export function userData(event: Event, context: MapContext<unknown>): UserData {
  const { site, properties, identifiers } = context;
  const every = (variant: (one: Identifiers) => string | null) => oneOrList(everyHash(context, variant));
  const place = hashedPlace(event, site);
  const keys: Record<string, string | readonly string[] | null> = {
    em: every(({ email }) => email),
    ph: every(({ phone_digits }) => phone_digits),
    fn: identifiers.first_name,
    ln: identifiers.last_name,
    external_id: every(({ external_id }) => external_id),
    ct: place.city,
    st: place.state,
    zp: oneOrList(place.zips),
    country: place.country,
    client_ip_address: clientAddress(event),
    client_user_agent: clientUserAgent(event),
    fbc: clickId(event, properties),
    fbp: browserId(properties),
    ...Object.fromEntries(PLAIN_IDS.map((name) => [name, firstId(properties, [name])])),
  };
  return Object.fromEntries(Object.entries(keys).flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
}

const DEVICE_KEYS = new Set(['client_ip_address', 'client_user_agent']);

/** Combinations that Meta's best practices page names as too broad to match anybody by; an event with no more is refused. */
const TOO_BROAD = [
  new Set(['ct', 'country', 'st', 'zp', 'ge', 'client_user_agent']),
  new Set(['db', 'client_user_agent']),
  new Set(['fn', 'ge']),
];

/** Whether Meta would match nobody by it. Of an offline event the device is no identity. */
export function isTooBroad(data: UserData, event: Event): boolean {
  const keys = Object.keys(data).filter((key) => isKnownByDevice(event) || !DEVICE_KEYS.has(key));
  return TOO_BROAD.some((broad) => keys.every((key) => broad.has(key)));
}
