import { keyedHash } from './keyed_hash.ts';
import { networkOf } from './network.ts';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const ID_BYTES = 16;

/**
 * The default distinct_id: `anon_` and 26 letters of base32, the first 128 bits of HMAC-SHA256(the day's random salt;
 * site, network, user agent). It cannot be computed again once the salt is destroyed.
 */
export function anonymousId(salt: Buffer, siteId: string, ip: string | null, userAgent: string | null): string {
  const network = ip === null ? '' : networkOf(ip);
  return `anon_${base32(keyedHash(salt, `${siteId}\0${network}\0${userAgent ?? ''}`))}`;
}

/**
 * The default distinct_id of a sale that a server reports with the customer's identifiers but without a visitor:
 * stable per customer, where the reporting server's own address would make one visitor of all its customers.
 */
export function customerAnonymousId(secret: Buffer, siteId: string, hashedIdentifier: string): string {
  return `anon_${base32(keyedHash(secret, `${siteId}\0customer\0${hashedIdentifier}`))}`;
}

function base32(bytes: Buffer): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (let at = 0; at < ID_BYTES; at += 1) {
    held = ((held << 8) | bytes.readUInt8(at)) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32.charAt((held >> bits) & 31);
    }
  }
  return text + BASE32.charAt((held << (5 - bits)) & 31);
}
