import { keyedHash } from '#pipelines/privacy/keyed_hash.ts';

/** What stands for an id that was an e-mail address or a phone number: `h_` and HMAC-SHA256 in hex, 66 characters. */
export function hashedSecretly(text: string, secret: Buffer): string {
  return `h_${keyedHash(secret, text).toString('hex')}`;
}
