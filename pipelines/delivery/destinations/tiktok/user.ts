import { clientAddress, clientUserAgent, isKnownByDevice } from '#pipelines/delivery/client_device.ts';
import type { MapContext } from '#pipelines/delivery/contract.ts';
import { hashedPlace, plainPlace } from '#pipelines/delivery/hashed_place.ts';
import { everyHash } from '#pipelines/delivery/matching_identifiers.ts';
import { oneOrList, present } from '#pipelines/delivery/present.ts';
import { firstId, firstText, textOrParameter } from '#pipelines/delivery/properties.ts';
import { countryCode } from '#pipelines/privacy/country_code.ts';
import type { Event, Identifiers } from '#schemas/event.ts';

/** Lower case, letters and digits only, as TikTok takes places. */
function folded(text: string | null): string | null {
  const letters =
    plainPlace(text)
      ?.normalize('NFC')
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}]/gu, '') ?? '';
  return letters === '' ? null : letters;
}

/** Keys by which TikTok can match an event to a person; one of them is needed. */
const MATCHING = ['email', 'phone', 'external_id', 'ttclid', 'ttp'];

export const isMatchable = (user: Record<string, unknown>, event: Event): boolean =>
  MATCHING.some((key) => key in user) || (isKnownByDevice(event) && 'ip' in user);

/**
 * The `user` of an event. E-mail, phone (E.164 with its plus), customer number, names and postal code are hashed; the
 * rest goes as it is, as the Events API's parameter page asks.
 */
export function userOf(event: Event, context: MapContext<unknown>): Record<string, unknown> {
  const { site, identifiers, properties } = context;
  const every = (variant: (one: Identifiers) => string | null) => oneOrList(everyHash(context, variant));
  return present({
    email: every(({ email }) => email),
    phone: every(({ phone }) => phone),
    external_id: every(({ external_id }) => external_id),
    first_name: identifiers.first_name,
    last_name: identifiers.last_name,
    zip_code: hashedPlace(event, site).zips[0] ?? null,
    city: folded(event.city),
    state: folded(event.state),
    country: countryCode(event.country),
    ttclid: textOrParameter(properties, ['ttclid', '$ttclid'], 'ttclid'),
    ttp: firstId(properties, ['ttp', '_ttp', '$ttp']),
    ip: clientAddress(event),
    user_agent: clientUserAgent(event),
    locale: firstText(properties, ['locale', '$locale', '$browser_language', 'language']),
  });
}
