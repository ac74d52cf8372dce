import { createHash } from 'node:crypto';
import { clientAddress, clientUserAgent } from '#pipelines/delivery/client_device.ts';
import type { MapContext } from '#pipelines/delivery/contract.ts';
import { cutText } from '#pipelines/delivery/cut_text.ts';
import { isUserPropertyName } from '#pipelines/delivery/ga4_names.ts';
import { googleNames } from '#pipelines/delivery/google_names.ts';
import { plainPlace } from '#pipelines/delivery/hashed_place.ts';
import { everyHash } from '#pipelines/delivery/matching_identifiers.ts';
import { stateCode } from '#pipelines/delivery/places.ts';
import { listOrNull, present, presentOrNull } from '#pipelines/delivery/present.ts';
import { isRestricted, type PrivacyChoices } from '#pipelines/delivery/privacy_choices.ts';
import { firstId, firstText, isRecord, type Properties } from '#pipelines/delivery/properties.ts';
import { countryCode } from '#pipelines/privacy/country_code.ts';
import type { Event } from '#schemas/event.ts';
import { namesVisitor } from './names.ts';
import type { Ga4Settings } from './settings.ts';

const USER_PROPERTIES_MAX = 25;
const USER_PROPERTY_CHARACTERS_MAX = 36;
const CLIENT_ID_NAMES = ['client_id', 'ga_client_id', '$ga_client_id', 'cid'];

/** The client id in the value of the `_ga` cookie, `GA1.1.<number>.<seconds>`. */
const cookieId = (text: string | null): string | null => /^GA\d\.\d\.(\d+\.\d+)$/.exec(text ?? '')?.[1] ?? null;

/** A number of up to ten digits out of four bytes. */
const numberAt = (digest: Buffer, offset: number): number => digest.readUInt32BE(offset);

function givenClientId(properties: Properties): string | null {
  const own = firstId(properties, CLIENT_ID_NAMES);
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

/** Lower case without digits and symbols, its spaces kept, as Google's page on user-provided data asks for places. */
function placeName(text: string | null): string | null {
  const name =
    plainPlace(text)
      ?.normalize('NFC')
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\s]/gu, '')
      .trim() ?? '';
  return name === '' ? null : name;
}

const postalCode = (text: string | null): string | null => plainPlace(text)?.replace(/[.~]/g, '') ?? null;

/** User-provided data: hashed by Google's rules, the place as it is and only beside a name. */
function userData(event: Event, context: MapContext<unknown>): object | null {
  const country = countryCode(event.country)?.toUpperCase() ?? null;
  const place = {
    city: placeName(event.city),
    region: placeName(event.state),
    postal_code: postalCode(event.zip),
    country,
  };
  const addresses = googleNames(context).map(({ givenName, familyName }) =>
    present({ sha256_first_name: givenName, sha256_last_name: familyName, ...place }),
  );
  return presentOrNull({
    sha256_email_address: listOrNull(everyHash(context, ({ email, email_google }) => email_google ?? email)),
    sha256_phone_number: listOrNull(everyHash(context, ({ phone }) => phone)),
    address: listOrNull(addresses),
  });
}

function userProperties(properties: Properties): object | null {
  const given = isRecord(properties['user_properties']) ? properties['user_properties'] : properties['$set'];
  if (!isRecord(given)) return null;
  const kept = Object.entries(given).flatMap(([name, value]): [string, object][] => {
    const isScalar = typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
    if (!isScalar || !isUserPropertyName(name) || namesVisitor(name)) return [];
    return [[name, { value: typeof value === 'string' ? cutText(value, USER_PROPERTY_CHARACTERS_MAX) : value }]];
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
  const state = country === 'us' ? stateCode(plainPlace(event.state), country) : null;
  return presentOrNull({
    city: plainPlace(event.city),
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
  const userId = isAnonymous ? null : identifiers.external_id;
  const address = settings.include_client_ip === 'yes' && !isUnmeasured ? clientAddress(event) : null;
  return present({
    client_id: clientId(event, properties, isUnmeasured),
    user_id: userId,
    // Google's page: user_id must be present wherever user_data is.
    user_data: userId === null || choices.adUserData === false ? null : userData(event, context),
    user_properties: isUnmeasured ? null : userProperties(properties),
    consent: consent(choices),
    ip_override: address,
    user_location: address === null ? userLocation(event) : null,
    user_agent: clientUserAgent(event),
  });
}
