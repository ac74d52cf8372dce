import { createHash } from 'node:crypto';
import { clientAddress, clientUserAgent } from '#pipelines/delivery/client_device.ts';
import type { MapContext } from '#pipelines/delivery/contract.ts';
import { cityName, countryCode, stateCode } from '#pipelines/delivery/places.ts';
import { present, presentOrNull } from '#pipelines/delivery/present.ts';
import { isRestricted, type PrivacyChoices } from '#pipelines/delivery/privacy_choices.ts';
import { firstText, isRecord, type Properties } from '#pipelines/delivery/properties.ts';
import type { Event, Identifiers } from '#schemas/event.ts';
import { isUserPropertyName } from './names.ts';
import type { Ga4Settings } from './settings.ts';

const USER_PROPERTIES_MAX = 25;
const USER_PROPERTY_CHARACTERS_MAX = 36;
const CLIENT_ID_NAMES = ['client_id', 'ga_client_id', '$ga_client_id', 'cid'];

/** The client id in the value of the `_ga` cookie, `GA1.1.<number>.<seconds>`. */
const cookieId = (text: string | null): string | null => /^GA\d\.\d\.(\d+\.\d+)$/.exec(text ?? '')?.[1] ?? null;

/** A number of up to ten digits out of four bytes. */
const numberAt = (digest: Buffer, offset: number): number => digest.readUInt32BE(offset);

function givenClientId(properties: Properties): string | null {
  const own = firstText(properties, CLIENT_ID_NAMES);
  return cookieId(own) ?? own ?? cookieId(firstText(properties, ['_ga', '$ga']));
}

/**
 * The client id of the browser where the event carries it; else a stable one made from the visitor's id, in the form of a
 * browser's, which joins the visitor's events here and no session of the web. Anonymous events have only the latter, and
 * one whose visitor does not want to be measured an id of its own.
 */
function clientId(event: Event, properties: Properties, isUnmeasured: boolean): string {
  const given = event.mode === 'offline' || isUnmeasured ? null : givenClientId(properties);
  if (given !== null) return given;
  const source = isUnmeasured ? ['event', event.site_id, event.event_id] : [event.site_id, event.distinct_id];
  const digest = createHash('sha256').update(JSON.stringify(source)).digest();
  return `${numberAt(digest, 0)}.${numberAt(digest, 4)}`;
}

const asList = (value: string | null): string[] | null => (value === null ? null : [value]);

/** User-provided data: hashed by Google's rules, the place as it is and only beside a name, as Google's page asks. */
function userData(event: Event, identifiers: Identifiers): object | null {
  const name = presentOrNull({
    sha256_first_name: identifiers.first_name_google ?? identifiers.first_name,
    sha256_last_name: identifiers.last_name_google ?? identifiers.last_name,
  });
  const country = countryCode(event.country)?.toUpperCase() ?? null;
  const address =
    name === null
      ? null
      : present({ ...name, city: cityName(event.city), region: event.state, postal_code: event.zip, country });
  return presentOrNull({
    sha256_email_address: asList(identifiers.email_google ?? identifiers.email),
    sha256_phone_number: asList(identifiers.phone),
    address: address === null ? null : [address],
  });
}

function userProperties(properties: Properties): object | null {
  const given = isRecord(properties['user_properties']) ? properties['user_properties'] : properties['$set'];
  if (!isRecord(given)) return null;
  const kept = Object.entries(given).flatMap(([name, value]): [string, object][] => {
    const isScalar = typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
    if (!isScalar || !isUserPropertyName(name)) return [];
    return [[name, { value: typeof value === 'string' ? value.slice(0, USER_PROPERTY_CHARACTERS_MAX) : value }]];
  });
  return presentOrNull(Object.fromEntries(kept.slice(0, USER_PROPERTIES_MAX)));
}

const word = (granted: boolean | null): string | null => (granted === null ? null : granted ? 'GRANTED' : 'DENIED');

const consent = (choices: PrivacyChoices): object | null =>
  presentOrNull({
    ad_user_data: word(choices.adUserData),
    ad_personalization: word(isRestricted(choices) ? false : choices.adPersonalization),
  });

/** The customer's place, for events whose browser is not known; a state goes by its ISO 3166-2 code in the US only. */
function userLocation(event: Event): object | null {
  const country = countryCode(event.country);
  const state = country === 'us' ? stateCode(event.state, country) : null;
  return presentOrNull({
    city: event.city,
    region_id: state !== null && state.length === 2 ? `US-${state.toUpperCase()}` : null,
    country_id: country?.toUpperCase() ?? null,
  });
}

/**
 * What all events of one request share: who, where, and what was agreed to. GA4 has no word for a visitor who refuses to
 * be measured: like the ping of Google's own tag, such an event says nothing of who it was.
 */
export function visitorOf(event: Event, context: MapContext<Ga4Settings>): Record<string, unknown> {
  const { identifiers, properties, settings, choices } = context;
  const isUnmeasured = choices.analytics === false;
  const isAnonymous = event.mode === 'offline' || isUnmeasured;
  const address = settings.include_client_ip === 'yes' && !isUnmeasured ? clientAddress(event) : null;
  return present({
    client_id: clientId(event, properties, isUnmeasured),
    user_id: isAnonymous ? null : identifiers.external_id,
    user_data: isAnonymous || choices.adUserData === false ? null : userData(event, identifiers),
    user_properties: isUnmeasured ? null : userProperties(properties),
    consent: consent(choices),
    ip_override: address,
    user_location: address === null ? userLocation(event) : null,
    user_agent: clientUserAgent(event),
  });
}
