// IP addresses: their bytes, networks, and whether one is reachable from outside.
import { isIPv4, isIPv6 } from 'node:net';

/** The address's bits: 4 bytes for IPv4 (v4-mapped IPv6 too), 16 for IPv6, null when it is no address. */
export function addressBytes(ip: string): number[] | null {
  if (isIPv4(ip)) return ipv4Bytes(ip);
  const bare = ip.startsWith('[') && ip.endsWith(']') ? ip.slice(1, -1) : ip;
  const zone = bare.indexOf('%');
  const address = zone < 0 ? bare : bare.slice(0, zone);
  if (!isIPv6(address)) return null;
  const bytes = ipv6Bytes(address);
  return isV4Mapped(bytes) ? bytes.slice(12) : bytes;
}

/**
 * One spelling per address: IPv4 dotted (v4-mapped IPv6 too), IPv6 compressed in lower case (RFC 5952).
 * Null when it is no address.
 */
export function normaliseIp(ip: string): string | null {
  const text = ip.trim();
  if (isIPv4(text)) return text;
  const bytes = addressBytes(text);
  return bytes === null ? null : spell(bytes);
}

const IPV4_WITH_PORT = /^([0-9.]{7,15}):[0-9]{1,5}$/;
const BRACKETED = /^\[([^[\]]{2,64})\](?::[0-9]{1,5})?$/;
const LEADING_ZEROS = /(^|\.)0+(?=\d)/g;
const OF_DIGITS = /^[0-9.]+$/;

/** The same of an address with a port, in brackets or with leading zeros, as proxies write it into X-Forwarded-For. */
export function writtenAddress(text: string): string | null {
  const trimmed = text.trim();
  const bare = IPV4_WITH_PORT.exec(trimmed)?.[1] ?? BRACKETED.exec(trimmed)?.[1] ?? trimmed;
  return normaliseIp(OF_DIGITS.test(bare) ? bare.replaceAll(LEADING_ZEROS, '$1') : bare);
}

/**
 * The network a visitor is counted by: the IPv4 address itself, or the /64 of an IPv6 address, since one household or
 * phone changes addresses within it. Text that is no address is returned unchanged, so that it still counts as one.
 */
export function networkOf(ip: string): string {
  if (isIPv4(ip)) return ip;
  const bytes = addressBytes(ip);
  if (bytes === null) return ip;
  return bytes.length === 4 ? bytes.join('.') : `${spell([...bytes.slice(0, 8), 0, 0, 0, 0, 0, 0, 0, 0])}/64`;
}

/** The network that one subscriber has mostly: the IPv4 address itself, or the /48 of an IPv6 address (RFC 6177). */
export function wideNetworkOf(ip: string): string {
  const bytes = addressBytes(ip);
  if (bytes === null) return ip;
  return bytes.length === 4 ? bytes.join('.') : `${spell([...bytes.slice(0, 6), ...new Array<number>(10).fill(0)])}/48`;
}

/** An address without its last part: the first three numbers of an IPv4 address, or 48 bits; empty for what is no address. */
export function cutAddress(ip: string): string {
  const bytes = addressBytes(ip);
  if (bytes === null) return '';
  const kept = bytes.length === 4 ? 3 : 6;
  return spell(bytes.map((byte, at) => (at < kept ? byte : 0)));
}

function spell(bytes: readonly number[]): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups: string[] = [];
  for (let at = 0; at < 16; at += 2) groups.push((((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** Every event's address is read: cutting the text into numbers would take three times as long. */
function ipv4Bytes(address: string): number[] {
  const bytes = [0, 0, 0, 0];
  let index = 0;
  for (let at = 0; at < address.length; at += 1) {
    const code = address.charCodeAt(at);
    if (code === DOT) index += 1;
    else bytes[index] = (bytes[index] ?? 0) * 10 + code - ZERO;
  }
  return bytes;
}

const DOT = 0x2e;
const ZERO = 0x30;

function ipv6Bytes(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const front = groupBytes(head);
  const back = tail === undefined ? [] : groupBytes(tail);
  return [...front, ...new Array<number>(16 - front.length - back.length).fill(0), ...back];
}

function groupBytes(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

function isV4Mapped(bytes: readonly number[]): boolean {
  return bytes[10] === 0xff && bytes[11] === 0xff && bytes.slice(0, 10).every((byte) => byte === 0);
}

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
