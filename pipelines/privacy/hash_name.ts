import { asSha256, isMd5, sha256Hex } from './hashed_form.ts';

const NAME_CHARACTERS_MAX = 200;
const ASCII_SPACE_AND_PUNCTUATION = /[\s!-/:-@[-`{-~]/g;
const APOSTROPHE_OR_HYPHEN = /['\u2019\u2010-]/;
const NOT_LETTER_NOR_SPACE = /[^\p{L}\p{M}\s]/gu;

export interface NameHashes {
  name: string;
  /** Google's rule; null when equal to `name`. */
  name_google: string | null;
}

/**
 * Hashes a first or last name, its accents composed, by two rules: lower case without ASCII white space and punctuation, as Meta's pixel does
 * it (`Mary Ann` is `maryann`), and lower case, trimmed, without digits and symbols, as Google's enhanced conversions
 * page asks (`mary ann`). A SHA-256 given instead of a name stands for both; an MD5 sum and an empty name are null.
 */
export function hashName(text: string): NameHashes | null {
  const trimmed = text.trim().normalize('NFC');
  const given = asSha256(trimmed);
  if (given !== null) return { name: given, name_google: null };
  if (trimmed.length > NAME_CHARACTERS_MAX || isMd5(trimmed)) return null;
  const lower = trimmed.toLowerCase();
  const base = lower.replace(ASCII_SPACE_AND_PUNCTUATION, '');
  if (base === '') return null;
  const google = lower.replace(NOT_LETTER_NOR_SPACE, '').trim();
  return { name: sha256Hex(base), name_google: google === base || google === '' ? null : sha256Hex(google) };
}

/** Hashes a name in lower case with the apostrophe or hyphen that it has, as Google's libraries do; null where it has none. */
export function hashWholeName(text: string): string | null {
  const lower = text.trim().normalize('NFC').toLowerCase();
  return lower.length <= NAME_CHARACTERS_MAX && APOSTROPHE_OR_HYPHEN.test(lower) ? sha256Hex(lower) : null;
}

/** Hashes a customer number in lower case; null where that is how it was given. */
export function hashLowerExternalId(text: string): string | null {
  const trimmed = text.trim();
  const lower = trimmed.toLowerCase();
  const isUsable = trimmed.length <= NAME_CHARACTERS_MAX && asSha256(trimmed) === null;
  return isUsable && lower !== trimmed ? sha256Hex(lower) : null;
}

/** Hashes a customer number of the site's own: trimmed, case kept; a SHA-256 given instead passes through. */
export function hashExternalId(text: string): string | null {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > NAME_CHARACTERS_MAX) return null;
  return asSha256(trimmed) ?? sha256Hex(trimmed);
}
