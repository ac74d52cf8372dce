const CHARACTERS_MAX = 500;

/** A text on one line. */
export const squeezed = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** The beginning of a text up to where a word of it or a part of an address ends, so that nothing is cut out of sight. */
const beginning = (text: string): string =>
  text.length > CHARACTERS_MAX ? text.slice(0, CHARACTERS_MAX).replace(/[^\s/]*$/, '') : text;

/**
 * A text without e-mail addresses, without tokens (UUIDs and 20 or more letters with digits among them) and without numbers
 * of nine or more digits, such as a phone's or a card's.
 */
export const withoutIds = (text: string): string =>
  text
    .replace(/[^\s@/=&?]{1,64}(@|%40)[^\s@/&]+/gi, '***')
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/gi, '***')
    .replace(/\b(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{20,}/gi, '***')
    .replace(/\+?\d([\s()./-]{0,2}\d){8,}/g, '***');

/** The first 500 characters of a text on one line, without that. */
export const masked = (text: string): string => withoutIds(beginning(squeezed(text)));
