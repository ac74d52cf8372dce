/** Long enough that no number of tries that are allowed finds one that is not among the commonest. */
export const PASSWORD_CHARACTERS_MIN = 12;

/** What whoever chooses a password is told. */
export const PASSWORD_RULE = `At least ${PASSWORD_CHARACTERS_MIN} characters, not all of them blank or the same`;

/** Characters that are not drawn at all: nobody knows how many of them they typed. */
const UNDRAWN = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const BLANKS = /\s/gu;
const CONTROL = /\p{Cc}/u;
const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Whether somebody may choose a password: it has enough of what people see as characters, whatever their accents are made of, and
 * does not say one over and over. Blanks may stand in it, but are not what it is made of. Control characters may not: nobody types
 * them, and a NUL at the end changes no hash (HMAC fills its keys up with them).
 */
export function isAcceptable(password: string): boolean {
  if (CONTROL.test(password)) return false;
  const drawn = password.normalize('NFC').replaceAll(UNDRAWN, '');
  const seen = [...characters.segment(drawn)].map(({ segment }) => segment);
  return seen.length >= PASSWORD_CHARACTERS_MIN && new Set(drawn.replaceAll(BLANKS, '')).size > 1;
}
