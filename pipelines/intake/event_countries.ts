import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import type { Site } from '#schemas/setting.ts';

const CODE = /^[A-Za-z]{2}$/;

/**
 * The countries by whose numbering plans ids are judged: the site's alone. The browser's copy and the server's copy of
 * an event may name different countries, or come from such, and must still have the same ids.
 */
export function idCountries({ default_country: country }: Pick<Site, 'default_country'>): readonly string[] {
  return country === null ? [] : [country];
}

/** The countries whose phone numbers an event's texts may hold: those known of the request, and the one it names itself. */
export function eventCountries(properties: JsonObject, known: readonly string[]): readonly string[] {
  const named = codeIn(properties) ?? codeIn(properties['user_data']) ?? codeIn(properties['$set']);
  return named === null || known.includes(named) ? known : [...known, named];
}

function codeIn(record: unknown): string | null {
  if (typeof record !== 'object' || record === null) return null;
  const { country, country_code: code } = record as JsonObject;
  if (typeof country === 'string' && CODE.test(country)) return country.toUpperCase();
  return typeof code === 'string' && CODE.test(code) ? code.toUpperCase() : null;
}
