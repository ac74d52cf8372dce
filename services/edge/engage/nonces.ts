const NONCE_BYTES = 9;
const NONCE_CHARACTERS = 12;
const DRAWN_AT_ONCE = 256;

/** Nonces of tokens: 12 characters of base64url at random. Drawn many at a time, as each draw costs more than a token. */
export function createNonces(randomBytes: (bytes: number) => Buffer): () => string {
  let drawn = '';
  let used = 0;
  return () => {
    if (used === drawn.length) {
      drawn = randomBytes(NONCE_BYTES * DRAWN_AT_ONCE).toString('base64url');
      used = 0;
    }
    used += NONCE_CHARACTERS;
    return drawn.slice(used - NONCE_CHARACTERS, used);
  };
}
