// Random secrets, and what a password must be.

/** A source of unpredictable bytes; node:crypto's randomBytes in production. */
export type RandomBytes = (bytes: number) => Uint8Array;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The largest multiple of 62 in a byte: what lies above would favour the first characters of the alphabet. */
const BYTE_LIMIT = 248;
const PASSWORD_CHARACTERS = 20;

/** Base62 text without bias: bytes that would favour some characters are thrown away. */
export function randomBase62(characters: number, randomBytes: RandomBytes): string {
  let text = '';
  while (text.length < characters) {
    for (const byte of randomBytes(characters - text.length)) {
      if (byte < BYTE_LIMIT) text += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return text;
}
const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** A secret of Standard Webhooks, which signs what a webhook is sent: `whsec_` and the base64 of 32 random bytes. */
export const randomSigningSecret = (randomBytes: RandomBytes): string =>
  `whsec_${btoa(String.fromCharCode(...randomBytes(32)))}`;

/** A password that nobody could guess: 119 random bits. */
export const randomPassword = (randomBytes: RandomBytes): string => randomBase62(PASSWORD_CHARACTERS, randomBytes);

/** Long enough that no number of tries that are allowed finds one that is not among the commonest. */
export const PASSWORD_CHARACTERS_MIN = 12;

/** What whoever chooses a password is told. */
export const PASSWORD_RULE = `At least ${PASSWORD_CHARACTERS_MIN} characters, not all of them blank or the same, and no common password`;

/**
 * What the commonest passwords of this length are made of, by the lists of passwords that were stolen: such words, rows of keys
 * and numbers that count, one after the other.
 */
const COMMON =
  /(?:password|passw0rd|p@ssw0rd|p@ssword|pass|passwort|contrasena|motdepasse|qwertyuiop|qwerty|qwertz|azerty|asdfghjkl|asdfgh|asdf|zxcvbnm|zxcvbn|1q2w3e4r5t6y|1q2w3e4r5t|1q2w3e4r|1q2w3e|q1w2e3r4t5y6|q1w2e3r4|1qaz2wsx3edc|1qaz2wsx|qazwsxedc|qazwsx|zaq12wsx|iloveyou|welcome|letmein|admin|administrator|login|master|monkey|dragon|sunshine|princess|football|baseball|superman|batman|trustno1|changeme|secret|hello|test|user|root|abc|abcd|abcdef|abcdefgh|1234567890(?:12)?|123456789|12345678|1234567|123456|12345|1234|123|987654321|87654321|654321|0987654321|(\d)\1{3,}|19\d\d|20\d\d|[!@#$.?*_ -])/g;

/** Characters that are not drawn at all: nobody knows how many of them they typed. */
const UNDRAWN = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const BLANKS = /\s/gu;
const CONTROL = /\p{Cc}/u;

/**
 * Whether somebody may choose a password: it has enough of what people see as characters, whatever their accents are made of, and
 * does not say one over and over. Blanks may stand in it, but are not what it is made of. Control characters may not: nobody types
 * them, and a NUL at the end changes no hash (HMAC fills its keys up with them).
 */
export function isAcceptable(password: string): boolean {
  if (CONTROL.test(password)) return false;
  const drawn = password.normalize('NFC').replaceAll(UNDRAWN, '');
  const seen = [...characters.segment(drawn)].map(({ segment }) => segment);
  const isCommon = drawn.toLowerCase().replaceAll(COMMON, '') === '';
  return seen.length >= PASSWORD_CHARACTERS_MIN && new Set(drawn.replaceAll(BLANKS, '')).size > 1 && !isCommon;
}
