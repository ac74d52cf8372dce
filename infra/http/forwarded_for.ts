import { isIPv4, isIPv6 } from 'node:net';

const IPV4_WITH_PORT = /^([0-9.]{7,15}):[0-9]{1,5}$/;
const BRACKETED = /^\[([^[\]]{2,64})\](?::[0-9]{1,5})?$/;

/** Strips the ports and the brackets of IPv6 that some proxies write into X-Forwarded-For. */
export function bareAddresses(header: string): string {
  return header.includes(':') ? header.split(',').map(bareAddress).join(', ') : header;
}

function bareAddress(entry: string): string {
  const text = entry.trim();
  const ipv4 = IPV4_WITH_PORT.exec(text)?.[1];
  if (ipv4 !== undefined && isIPv4(ipv4)) return ipv4;
  const ipv6 = BRACKETED.exec(text)?.[1];
  return ipv6 !== undefined && isIPv6(ipv6) ? ipv6 : text;
}
