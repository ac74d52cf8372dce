import { BlockList, isIP } from 'node:net';

/** Ranges of IANA's special-purpose registry that are not the public internet. */
const REFUSED_V4: readonly [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // The metadata service of a cloud, at an address that looks public.
  ['168.63.129.16', 32],
];

/** Global unicast; everything outside of it (loopback, v4-mapped, NAT64, unique local, link-local, multicast) is refused. */
const GLOBAL_V6: readonly [string, number] = ['2000::', 3];
/** Inside global unicast, but not public: Teredo and other protocol assignments, documentation, and 6to4. */
const REFUSED_V6: readonly [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

function listOf(ranges: readonly (readonly [string, number])[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of ranges) list.addSubnet(net, prefix, family);
  return list;
}

const refusedV4 = listOf(REFUSED_V4, 'ipv4');
const refusedV6 = listOf(REFUSED_V6, 'ipv6');
const globalV6 = listOf([GLOBAL_V6], 'ipv6');
const loopbackV4 = listOf([['127.0.0.0', 8]], 'ipv4');
const loopbackV6 = listOf([['::1', 128]], 'ipv6');

/** Whether an IP address, as text without brackets or zone, belongs to the public internet. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !refusedV4.check(address, 'ipv4');
    case 6:
      return globalV6.check(address, 'ipv6') && !refusedV6.check(address, 'ipv6');
    default:
      return false;
  }
}

/** Whether an IP address is a loopback address; a v4-mapped form does not count as one. */
export function isLoopbackAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return loopbackV4.check(address, 'ipv4');
    case 6:
      return !/^::ffff:/i.test(address) && loopbackV6.check(address, 'ipv6');
    default:
      return false;
  }
}
