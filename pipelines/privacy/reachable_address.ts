import { addressBytes } from './network.ts';

/** First bytes of IPv4 networks that are nobody's on the public internet, with the bits that count. */
const INTERNAL_V4: readonly (readonly [number, number, bits: number])[] = [
  [0, 0, 8],
  [10, 0, 8],
  [100, 64, 10],
  [127, 0, 8],
  [169, 254, 16],
  [172, 16, 12],
  [192, 168, 16],
  [198, 18, 15],
  [224, 0, 4],
  [240, 0, 4],
];

function isReachableV4([first = 0, second = 0]: readonly number[]): boolean {
  const start = (first << 8) | second;
  return !INTERNAL_V4.some(([one, two, bits]) => (start ^ ((one << 8) | two)) >> (16 - bits) === 0);
}

const startsWith = (bytes: readonly number[], prefix: readonly number[]): boolean =>
  prefix.every((byte, at) => bytes[at] === byte);

const NAT64 = [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];
const SIX_TO_FOUR = [0x20, 0x02];

/** Of IPv6 only global unicast; addresses that carry one of IPv4 are judged by that. */
function isReachableV6(bytes: readonly number[]): boolean {
  if (startsWith(bytes, NAT64)) return isReachableV4(bytes.slice(12));
  if (startsWith(bytes, SIX_TO_FOUR)) return isReachableV4(bytes.slice(2));
  return ((bytes[0] ?? 0) & 0xe0) === 0x20;
}

/**
 * Whether an address can be a visitor's as the public internet sees it: not loopback, private, shared (CGNAT), link-local,
 * unique local, multicast or unspecified, in whatever form it is written.
 */
export function isReachableAddress(ip: string): boolean {
  const bytes = addressBytes(ip);
  if (bytes === null) return false;
  return bytes.length === 4 ? isReachableV4(bytes) : isReachableV6(bytes);
}
