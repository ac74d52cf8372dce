// SSRF guard: requests go to public addresses only, by name and by every resolved address.
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { type DnsAnswer, type DnsResolver, withoutRootDot } from '#pipelines/settings/domains.ts';

/** What a URL from a site's settings may be besides https to the public internet. Both are for local development. */
export interface GuardPolicy {
  allowHttp: boolean;
  allowLoopback: boolean;
}

/** Every address of a host name; rejects with the resolver's error code. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Thrown inside the connector when a name resolves to an address that is not allowed. */
class AddressRefused extends Error {
  readonly code = 'address_refused';
}

const PRIVATE_NAME = /\.(?:local|internal|lan|home|corp|home\.arpa|localdomain|intranet)$/;
const loopbackV6 = listOf([['::1', 128]], 'ipv6');
const loopbackV4 = listOf([['127.0.0.0', 8]], 'ipv4');
/** Inside global unicast, but not public: Teredo and other protocol assignments, documentation, and 6to4. */
const REFUSED_V6: readonly [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];
const refusedV6 = listOf(REFUSED_V6, 'ipv6');

/** Global unicast; everything outside of it (loopback, v4-mapped, NAT64, unique local, link-local, multicast) is refused. */
const GLOBAL_V6: readonly [string, number] = ['2000::', 3];
const globalV6 = listOf([GLOBAL_V6], 'ipv6');

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

const refusedV4 = listOf(REFUSED_V4, 'ipv4');

const isAllowed = (address: string, policy: GuardPolicy): boolean =>
  isPublicAddress(address) || (policy.allowLoopback && isLoopbackAddress(address));

/**
 * Whether a URL may be called, judged by its text alone. The URL parser has already turned `127.1`, decimal, octal and hex
 * forms into plain addresses. Names are checked later, by the addresses they resolve to.
 */
export function isUrlAllowed(url: URL, policy: GuardPolicy): boolean {
  if (url.protocol !== 'https:' && !(policy.allowHttp && url.protocol === 'http:')) return false;
  if (url.username !== '' || url.password !== '') return false;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? isNameAllowed(host, policy) : isAllowed(host, policy);
}

/** Whether delivery would call an address that a site's settings give. */
export function isAddressAllowed(address: string, allowLoopback: boolean): boolean {
  const url = URL.parse(address);
  return url !== null && isUrlAllowed(url, { allowHttp: allowLoopback, allowLoopback });
}

/** Names without a dot, and names reserved for private use (RFC 6761, 6762, 9476), have no public address. */
function isNameAllowed(host: string, policy: GuardPolicy): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost')) return policy.allowLoopback;
  return name.includes('.') && !PRIVATE_NAME.test(name);
}

/**
 * A look-up for the connector that resolves a name once, refuses it unless every one of its addresses is allowed, and
 * passes exactly the checked addresses to the connection. So a name that resolves differently between check and use does
 * not get past the guard.
 */
export function guardedLookup(resolve: Resolve, policy: GuardPolicy): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const first = addresses[0];
        if (first === undefined || !addresses.every(({ address }) => isAllowed(address, policy))) {
          callback(new AddressRefused('the name leads to an address that is not allowed'), []);
        } else if (options.all === true) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

function listOf(ranges: readonly (readonly [string, number])[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of ranges) list.addSubnet(net, prefix, family);
  return list;
}

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

export interface ResolverOptions {
  /** Addresses of the servers to ask, with their ports; none: those of the system. */
  servers: readonly string[];
  /** The longest that one try may take; a question is tried twice. */
  timeoutMs: number;
}

const TRIES = 2;

/** Node's codes for a name that does not exist and for one without records of the kind. */
const ABSENT: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

/** Asks name servers by Node's resolver, which looks into no file of hosts. */
export function createDnsResolver({ servers, timeoutMs }: ResolverOptions): DnsResolver {
  const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  return {
    txt: (name) => answerOf(async () => (await resolver.resolveTxt(name)).map((strings) => strings.join(''))),
    cname: (asked) =>
      answerOf(async () => (await resolver.resolveCname(asked)).map((name) => withoutRootDot(name.toLowerCase()))),
  };
}

/** Every error of the resolver is an answer; whatever else is thrown is a fault of ours. */
async function answerOf(ask: () => Promise<string[]>): Promise<DnsAnswer> {
  try {
    const values = await ask();
    return values.length === 0 ? { kind: 'absent' } : { kind: 'found', values };
  } catch (error) {
    const { code, syscall } = error as { code?: string; syscall?: string };
    if (code === undefined || syscall === undefined || !syscall.startsWith('query')) throw error;
    return { kind: ABSENT.has(code) ? 'absent' : 'unavailable' };
  }
}
