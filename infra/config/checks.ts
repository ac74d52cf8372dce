import { isIP } from 'node:net';

/** `host:port`. */
export function isHostAndPort(text: string): boolean {
  const [, port = '0'] = /^(?:[^\s:/]+|\[[0-9a-f:]+\]):(\d{1,5})$/i.exec(text) ?? [];
  return Number(port) > 0 && Number(port) <= 65_535;
}

/** An IP address, with a port or without. */
export function isAddressWithPort(text: string): boolean {
  const bare = /^\[(.+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d{1,5}$/, '$1');
  return isIP(bare) !== 0;
}

/** The name or address of a host, as a Host header has it, with a port or without. */
export function isHostName(text: string): boolean {
  return /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/.test(text);
}

/** The origin of a page that may have cookies: nobody on the way reads what is sent to it. */
export function isPublicUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.href !== `${url.origin}/`) return false;
  const isOwnMachine = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isOwnMachine);
}

/** A name of two labels or more, in lower case. */
export function isDomainName(text: string): boolean {
  return text.length <= 200 && /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/.test(text);
}

const BITS: Record<number, number> = { 4: 32, 6: 128 };

/** An IP address, or a range of them in CIDR notation. */
export function isAddressOrRange(text: string): boolean {
  const [address = '', prefix = '0', ...rest] = text.split('/');
  const bits = BITS[isIP(address)];
  return rest.length === 0 && bits !== undefined && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits;
}

/** Whether a base64 text decodes to at least that many bytes. */
export function isBase64Of(bytesMin: number): (text: string) => boolean {
  return (text) => Buffer.from(text, 'base64').length >= bytesMin;
}
