import type { IncomingMessage } from 'node:http';

/** A name or an address, IPv6 in brackets, and a port (RFC 9110, 7.2); nothing is where a URL names no host. */
const HOST = /^(?:\[[0-9a-f:.]{2,45}\]|[^\s/?#@\\,[\]:]*)(?::(?<port>\d{0,5}))?$/i;
const PORT_MAX = 65_535;

/** Whether a request says once and readably which host it is for, as HTTP/1.1 asks of it (RFC 9112, 3.2). */
export function saysItsHost({ httpVersion, headers: { host }, rawHeaders, url = '' }: IncomingMessage): boolean {
  // A target in absolute form has a host of its own, which would have to be taken in place of the header (RFC 9112, 3.2.2).
  if (!url.startsWith('/') && targetHost(url) !== host?.toLowerCase()) return url === '*';
  if (host === undefined) return httpVersion === '1.0';
  // Of two such headers Node shows the first alone.
  return isReadable(host) && rawHeaders.filter((name, at) => at % 2 === 0 && isHost(name)).length <= 1;
}

/** A port that there is not is refused with the rest: an address with it is none, whatever reads it later. */
function isReadable(host: string): boolean {
  const read = HOST.exec(host);
  return read !== null && Number(read.groups?.['port'] ?? '') <= PORT_MAX;
}

/** The host, and the port, of a request target in absolute form; undefined of anything else. */
const targetHost = (target: string): string | undefined => /^https?:\/\/([^/?#]*)/i.exec(target)?.[1]?.toLowerCase();

const isHost = (name: string): boolean => name.length === 4 && name.toLowerCase() === 'host';
