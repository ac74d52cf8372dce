import { writtenAddress } from '#pipelines/privacy/network.ts';

/**
 * What X-Forwarded-For says for certain, each address in its one spelling: ports and brackets, as some proxies write them,
 * zones, capitals and leading zeros go. Of a text that is no address nobody knows what stands before it, so that only
 * what was added after the last of these counts; null where that is nothing.
 */
export function knownAddresses(header: string): string | null {
  const addresses = header.split(',').map(writtenAddress);
  const known = addresses.slice(addresses.lastIndexOf(null) + 1);
  return known.length === 0 ? null : known.join(', ');
}
