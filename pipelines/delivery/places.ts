/** Names of countries that are in common use and that the Unicode names below do not give. */
const OTHER_NAMES: Record<string, string> = {
  usa: 'us',
  unitedstatesofamerica: 'us',
  uk: 'gb',
  greatbritain: 'gb',
  england: 'gb',
  scotland: 'gb',
  wales: 'gb',
  northernireland: 'gb',
  czechrepublic: 'cz',
  holland: 'nl',
  turkey: 'tr',
  myanmar: 'mm',
  ivorycoast: 'ci',
  swaziland: 'sz',
  capeverde: 'cv',
};

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'.split('');

const lettersOf = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}]/gu, '');

/** Codes that have given way to another (UK, DD) carry the other's name and are left out. */
function isCurrent(code: string): boolean {
  const [canonical] = Intl.getCanonicalLocales(`und-${code}`);
  return canonical?.toLowerCase() === `und-${code}`;
}

function unicodeNames(): Map<string, string> {
  const names = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });
  const codes = LETTERS.flatMap((first) => LETTERS.map((second) => first + second)).filter(isCurrent);
  return new Map(
    codes.flatMap((code): [string, string][] => {
      const name = names.of(code.toUpperCase());
      return name === undefined ? [] : [[lettersOf(name), code]];
    }),
  );
}

let codeByName: Map<string, string> | null = null;

/** ISO 3166-1 alpha-2 in lower case, from a code or an English name; null when it is neither. */
export function countryCode(text: string | null): string | null {
  if (text === null) return null;
  const letters = lettersOf(text);
  const other = OTHER_NAMES[letters];
  if (other !== undefined) return other;
  if (/^[a-z]{2}$/.test(letters)) return letters;
  codeByName ??= unicodeNames();
  return codeByName.get(letters) ?? null;
}

const US_STATES: Record<string, string> = {
  alabama: 'al',
  alaska: 'ak',
  arizona: 'az',
  arkansas: 'ar',
  california: 'ca',
  colorado: 'co',
  connecticut: 'ct',
  delaware: 'de',
  districtofcolumbia: 'dc',
  florida: 'fl',
  georgia: 'ga',
  hawaii: 'hi',
  idaho: 'id',
  illinois: 'il',
  indiana: 'in',
  iowa: 'ia',
  kansas: 'ks',
  kentucky: 'ky',
  louisiana: 'la',
  maine: 'me',
  maryland: 'md',
  massachusetts: 'ma',
  michigan: 'mi',
  minnesota: 'mn',
  mississippi: 'ms',
  missouri: 'mo',
  montana: 'mt',
  nebraska: 'ne',
  nevada: 'nv',
  newhampshire: 'nh',
  newjersey: 'nj',
  newmexico: 'nm',
  newyork: 'ny',
  northcarolina: 'nc',
  northdakota: 'nd',
  ohio: 'oh',
  oklahoma: 'ok',
  oregon: 'or',
  pennsylvania: 'pa',
  puertorico: 'pr',
  rhodeisland: 'ri',
  southcarolina: 'sc',
  southdakota: 'sd',
  tennessee: 'tn',
  texas: 'tx',
  utah: 'ut',
  vermont: 'vt',
  virginia: 'va',
  washington: 'wa',
  westvirginia: 'wv',
  wisconsin: 'wi',
  wyoming: 'wy',
};

/**
 * State or region without punctuation and spaces, lower case; in the United States its two letters, also from the full
 * name or from ISO 3166-2 ("US-CA").
 */
export function stateCode(text: string | null, country: string | null): string | null {
  if (text === null) return null;
  const letters = lettersOf(text);
  if (country !== 'us') return letters === '' ? null : letters;
  if (/^us[a-z]{2}$/.test(letters)) return letters.slice(2);
  return US_STATES[letters] ?? (letters === '' ? null : letters);
}

/** City in lower-case letters of any script, without punctuation, digits and spaces. */
export function cityName(text: string | null): string | null {
  const letters = text === null ? '' : lettersOf(text);
  return letters === '' ? null : letters;
}

/**
 * Postal codes to match by: lower case, no spaces or dashes; in the United States the first five digits. For the United
 * Kingdom both the whole code and its area, district and sector, as platforms' pages ask for the latter while their own
 * libraries send the former.
 */
export function postalCodes(text: string | null, country: string | null): string[] {
  if (text === null) return [];
  const code = text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  if (code === '') return [];
  if (country === 'us' || (country === null && /^\d{5}-\d{4}$/.test(text.trim()))) return [code.slice(0, 5)];
  return country === 'gb' && /^[a-z]{1,2}\d[a-z\d]?\d[a-z]{2}$/.test(code) ? [code, code.slice(0, -2)] : [code];
}
