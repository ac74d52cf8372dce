import { countryCode } from '#pipelines/privacy/country_code.ts';
import { asSha256, isMd5 } from '#pipelines/privacy/hashed_form.ts';
import type { Event } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import { sha256Hex } from './hash.ts';
import { cityName, postalCodes, stateCode } from './places.ts';

/** SHA-256 of where the customer lives, normalised as Meta's, Snapchat's and Pinterest's pages ask alike. */
export interface HashedPlace {
  city: string | null;
  state: string | null;
  /** More than one where platforms and their libraries disagree on the form. */
  zips: string[];
  country: string | null;
}

/** What the sender hashed already goes as it is; an MD5 sum is of no use to any platform. */
function hashed(text: string | null, normalised: (text: string) => string | null): string | null {
  if (text === null || isMd5(text.trim())) return null;
  const given = asSha256(text.trim());
  if (given !== null) return given;
  const value = normalised(text);
  return value === null ? null : sha256Hex(value);
}

/** A place in clear; null where there is none, or a hash of it. */
export function plainPlace(text: string | null): string | null {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' || isMd5(trimmed) || asSha256(trimmed) !== null ? null : trimmed;
}

function hashedZips(zip: string | null, country: string | null): string[] {
  const given = asSha256(zip?.trim() ?? '');
  return given === null ? postalCodes(plainPlace(zip), country).map(sha256Hex) : [given];
}

/** A state or postal code without a country is read by the site's. */
export function hashedPlace(event: Event, site: Site): HashedPlace {
  const country = countryCode(event.country);
  const readAs = country ?? countryCode(site.default_country);
  return {
    city: hashed(event.city, cityName),
    state: hashed(event.state, (state) => stateCode(state, readAs)),
    zips: hashedZips(event.zip, readAs),
    country: country === null ? null : sha256Hex(country),
  };
}
