import { normaliseIp } from '#pipelines/privacy/network.ts';

const IPV4_WITH_PORT = /^([0-9.]{7,15}):[0-9]{1,5}$/;
const BRACKETED = /^\[([^[\]]{2,64})\](?::[0-9]{1,5})?$/;
const LEADING_ZEROS = /(^|\.)0+(?=\d)/g;
const OF_DIGITS = /^[0-9.]+$/;

/**
 * What X-Forwarded-For says for certain, each address in its one spelling: ports and brackets, as some proxies write them,
 * zones, capitals and leading zeros go. Of a text that is no address nobody knows what stands before it, so that only
 * what was added after the last of these counts; null where that is nothing.
 */
export function knownAddresses(header: string): string | null {
  const addresses = header.split(',').map(addressOf);
  const known = addresses.slice(addresses.lastIndexOf(null) + 1);
  return known.length === 0 ? null : known.join(', ');
}

function addressOf(entry: string): string | null {
  const text = entry.trim();
  const bare = IPV4_WITH_PORT.exec(text)?.[1] ?? BRACKETED.exec(text)?.[1] ?? text;
  return normaliseIp(OF_DIGITS.test(bare) ? bare.replaceAll(LEADING_ZEROS, '$1') : bare);
}
