import { CODES, LANGUAGES, OTHER_NAMES } from './country_names.ts';
import { asSha256, sha256Hex } from './hashed_form.ts';

const TEXT_CHARACTERS_MAX = 100;
/** ISO 3166-2, a country and a part of it: `CA-ON`. */
const SUBDIVISION = /^([a-z]{2})-[a-z0-9]{1,3}$/i;

const ALPHA_2_BY_3 = new Map(CODES.split(' ').map((pair): [string, string] => [pair.slice(0, 3), pair.slice(3)]));
const COUNTRIES: ReadonlySet<string> = new Set(ALPHA_2_BY_3.values());

/** The letters of a name as names are compared: in lower case, without spaces and punctuation. */
export const lettersOf = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}]/gu, '');

function namesOf(language: string): [string, string][] {
  const names = new Intl.DisplayNames([language], { type: 'region', fallback: 'none' });
  return [...COUNTRIES].flatMap((code): [string, string][] => {
    const name = names.of(code.toUpperCase());
    return name === undefined ? [] : [[lettersOf(name), code]];
  });
}

let codesByName: Map<string, string> | null = null;
let codesByHash: Map<string, string> | null = null;

/** Where languages differ on a name, the one that stands first in LANGUAGES counts. */
function byName(letters: string): string | null {
  codesByName ??= new Map(LANGUAGES.toReversed().flatMap(namesOf));
  return codesByName.get(letters) ?? null;
}

function byHash(hashed: string): string | null {
  codesByHash ??= new Map([...COUNTRIES].map((code) => [sha256Hex(code), code]));
  return codesByHash.get(hashed) ?? null;
}

/**
 * ISO 3166-1 alpha-2 in lower case, from a code of two or three letters, a code of a part of the country, a name in one of
 * many languages, or the SHA-256 of the code, as senders hash it for platforms; null when it is none of them.
 */
export function countryCode(text: string | null): string | null {
  if (text === null || text.length > TEXT_CHARACTERS_MAX) return null;
  const trimmed = text.trim();
  const hashed = asSha256(trimmed);
  if (hashed !== null) return byHash(hashed);
  const letters = lettersOf(SUBDIVISION.exec(trimmed)?.[1] ?? trimmed);
  const other = Object.hasOwn(OTHER_NAMES, letters) ? OTHER_NAMES[letters] : undefined;
  if (other !== undefined) return other;
  if (/^[a-z]{2}$/.test(letters)) return COUNTRIES.has(letters) ? letters : null;
  return ALPHA_2_BY_3.get(letters) ?? byName(letters);
}
