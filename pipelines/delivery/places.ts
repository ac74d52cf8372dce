import { lettersOf } from '#pipelines/privacy/country_code.ts';

const US_STATES: ReadonlyMap<string, string> = new Map([
  ['alabama', 'al'],
  ['alaska', 'ak'],
  ['arizona', 'az'],
  ['arkansas', 'ar'],
  ['california', 'ca'],
  ['colorado', 'co'],
  ['connecticut', 'ct'],
  ['delaware', 'de'],
  ['districtofcolumbia', 'dc'],
  ['florida', 'fl'],
  ['georgia', 'ga'],
  ['hawaii', 'hi'],
  ['idaho', 'id'],
  ['illinois', 'il'],
  ['indiana', 'in'],
  ['iowa', 'ia'],
  ['kansas', 'ks'],
  ['kentucky', 'ky'],
  ['louisiana', 'la'],
  ['maine', 'me'],
  ['maryland', 'md'],
  ['massachusetts', 'ma'],
  ['michigan', 'mi'],
  ['minnesota', 'mn'],
  ['mississippi', 'ms'],
  ['missouri', 'mo'],
  ['montana', 'mt'],
  ['nebraska', 'ne'],
  ['nevada', 'nv'],
  ['newhampshire', 'nh'],
  ['newjersey', 'nj'],
  ['newmexico', 'nm'],
  ['newyork', 'ny'],
  ['northcarolina', 'nc'],
  ['northdakota', 'nd'],
  ['ohio', 'oh'],
  ['oklahoma', 'ok'],
  ['oregon', 'or'],
  ['pennsylvania', 'pa'],
  ['puertorico', 'pr'],
  ['rhodeisland', 'ri'],
  ['southcarolina', 'sc'],
  ['southdakota', 'sd'],
  ['tennessee', 'tn'],
  ['texas', 'tx'],
  ['utah', 'ut'],
  ['vermont', 'vt'],
  ['virginia', 'va'],
  ['washington', 'wa'],
  ['westvirginia', 'wv'],
  ['wisconsin', 'wi'],
  ['wyoming', 'wy'],
]);

/**
 * State or region without punctuation and spaces, lower case; in the United States its two letters, also from the full
 * name or from ISO 3166-2 ("US-CA").
 */
export function stateCode(text: string | null, country: string | null): string | null {
  if (text === null) return null;
  const letters = lettersOf(text);
  if (country !== 'us') return letters === '' ? null : letters;
  if (/^us[a-z]{2}$/.test(letters)) return letters.slice(2);
  return US_STATES.get(letters) ?? (letters === '' ? null : letters);
}

/** City in lower-case letters of any script, without punctuation, digits and spaces. */
export function cityName(text: string | null): string | null {
  const letters = text === null ? '' : lettersOf(text);
  return letters === '' ? null : letters;
}

/**
 * Postal codes to match by: lower case, no spaces or dashes; in the United States the first five digits of its five or
 * nine. For the United Kingdom both the whole code and its area, district and sector, and elsewhere one with a dash also
 * with it, as platforms' pages ask for the one while their own libraries send the other. The first is the page's.
 */
export function postalCodes(text: string | null, country: string | null): string[] {
  if (text === null) return [];
  const lower = text.trim().toLowerCase();
  const code = lower.replace(/[^\p{L}\p{N}]/gu, '');
  if (code === '') return [];
  const mayBeUs = country === 'us' || (country === null && /^\d{5}-\d{4}$/.test(lower));
  if (mayBeUs && /^\d{5}(\d{4})?$/.test(code)) return [code.slice(0, 5)];
  if (country === 'gb' && /^[a-z]{1,2}\d[a-z\d]?\d[a-z]{2}$/.test(code)) return [code, code.slice(0, -2)];
  return lower.includes('-') ? [code, lower.replace(/[^\p{L}\p{N}-]/gu, '')] : [code];
}
