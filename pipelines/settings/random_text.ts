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

/** A password that nobody could guess: 119 random bits. */
export const randomPassword = (randomBytes: RandomBytes): string => randomBase62(PASSWORD_CHARACTERS, randomBytes);
