import type { Event } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import { sha256Hex } from './hash.ts';
import { cityName, countryCode, postalCodes, stateCode } from './places.ts';

/** SHA-256 of where the customer lives, normalised as Meta's, Snapchat's and Pinterest's pages ask alike. */
export interface HashedPlace {
  city: string | null;
  state: string | null;
  /** More than one where platforms and their libraries disagree on the form. */
  zips: string[];
  country: string | null;
}

const hashed = (value: string | null): string | null => (value === null ? null : sha256Hex(value));

/** A state or postal code without a country is read by the site's. */
export function hashedPlace(event: Event, site: Site): HashedPlace {
  const country = countryCode(event.country);
  const readAs = country ?? countryCode(site.default_country);
  return {
    city: hashed(cityName(event.city)),
    state: hashed(stateCode(event.state, readAs)),
    zips: postalCodes(event.zip, readAs).map(sha256Hex),
    country: hashed(country),
  };
}
