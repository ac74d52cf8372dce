import { BlockList, isIP, isIPv6 } from 'node:net';
import { keyedHash } from '#pipelines/privacy/keyed_hash.ts';
import { networkOf } from '#pipelines/privacy/network.ts';

const DIGEST_CHARACTERS = 22;

/**
 * Names a caller by its network as the limits count it: a keyed digest, as addresses are not kept. Null for an address in
 * one of the exempt ranges.
 */
export function createAddressNamer(secret: Buffer, exempt: BlockList): (clientIp: string) => string | null {
  const cache = new Map<string, string | null>();
  const nameOf = (clientIp: string): string | null => {
    if (isIP(clientIp) !== 0 && exempt.check(clientIp, isIPv6(clientIp) ? 'ipv6' : 'ipv4')) return null;
    return keyedHash(secret, networkOf(clientIp)).toString('base64url').slice(0, DIGEST_CHARACTERS);
  };
  return (clientIp) => {
    const known = cache.get(clientIp);
    if (known !== undefined) return known;
    const name = nameOf(clientIp);
    if (cache.size >= CACHED_MAX) cache.clear();
    cache.set(clientIp, name);
    return name;
  };
}

const CACHED_MAX = 10_000;

/** Ranges as `10.0.0.0/8`, or single addresses. Throws where one is neither. */
export function blockListOf(ranges: readonly string[]): BlockList {
  const blocks = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) blocks.addAddress(address, family);
    else blocks.addSubnet(address, Number(prefix), family);
  }
  return blocks;
}
