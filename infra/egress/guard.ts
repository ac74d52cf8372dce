import { isIP, type LookupFunction } from 'node:net';
import { isLoopbackAddress, isPublicAddress } from './public_address.ts';

/** What a URL from a site's settings may be besides https to the public internet. Both are for local development. */
export interface GuardPolicy {
  allowHttp: boolean;
  allowLoopback: boolean;
}

interface ResolvedAddress {
  address: string;
  family: number;
}

/** Every address of a host name; rejects with the resolver's error code. */
export type Resolve = (hostname: string) => Promise<ResolvedAddress[]>;

/** Thrown inside the connector when a name resolves to an address that is not allowed. */
class AddressRefused extends Error {
  readonly code = 'address_refused';
}

const PRIVATE_NAME = /\.(?:local|internal|lan|home|corp|home\.arpa|localdomain|intranet)$/;

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
