import { clientAddress, clientUserAgent, isKnownByDevice } from '#pipelines/delivery/client_device.ts';
import { sha256Hex } from '#pipelines/delivery/hash.ts';
import { countryCode, postalCodes } from '#pipelines/delivery/places.ts';
import { present } from '#pipelines/delivery/present.ts';
import { firstText, type Properties, textOrParameter } from '#pipelines/delivery/properties.ts';
import type { Event, Identifiers } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';

/** Lower case, letters and digits only, as TikTok takes places. */
function folded(text: string | null): string | null {
  const letters =
    text
      ?.normalize('NFC')
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}]/gu, '') ?? '';
  return letters === '' ? null : letters;
}

function hashedZip(event: Event, site: Site): string | null {
  const [code] = postalCodes(event.zip, countryCode(event.country) ?? countryCode(site.default_country));
  return code === undefined ? null : sha256Hex(code);
}

/** Keys by which TikTok can match an event to a person; one of them is needed. */
const MATCHING = ['email', 'phone', 'external_id', 'ttclid', 'ttp'];

export const isMatchable = (user: Record<string, unknown>, event: Event): boolean =>
  MATCHING.some((key) => key in user) || (isKnownByDevice(event) && 'ip' in user);

/**
 * The `user` of an event. E-mail, phone (E.164 with its plus), customer number, names and postal code are hashed; the
 * rest goes as it is, as the Events API's parameter page asks.
 */
export function userOf(
  event: Event,
  site: Site,
  identifiers: Identifiers,
  properties: Properties,
): Record<string, unknown> {
  return present({
    email: identifiers.email,
    phone: identifiers.phone,
    external_id: identifiers.external_id,
    first_name: identifiers.first_name,
    last_name: identifiers.last_name,
    zip_code: hashedZip(event, site),
    city: folded(event.city),
    state: folded(event.state),
    country: countryCode(event.country),
    ttclid: textOrParameter(properties, ['ttclid', '$ttclid'], 'ttclid'),
    ttp: firstText(properties, ['ttp', '_ttp', '$ttp']),
    ip: clientAddress(event),
    user_agent: clientUserAgent(event),
    locale: firstText(properties, ['locale', '$locale', '$browser_language', 'language']),
  });
}
