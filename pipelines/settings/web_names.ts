import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';

const DOMAIN_CHARACTERS_MAX = 253;
const LABEL_PATTERN = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * An origin as browsers write it in the Origin header: scheme, host in lower-case punycode, and the port unless it is
 * the scheme's own. Null for anything that is more, or less, than an http or https origin (a final slash is forgiven).
 */
export function canonicalOrigin(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return url.href === `${url.origin}/` && !/[?#\s]/.test(text) ? url.origin : null;
}

/**
 * A domain as certificate requests and Host headers carry it: lower-case punycode, without port or final dot. Null for
 * addresses, single labels and anything that is no host name.
 */
export function canonicalDomain(text: string): string | null {
  if (!/^[^\s/:?#@%[\]\\]+$/.test(text)) return null;
  const domain = domainToASCII(text);
  const labels = domain.split('.');
  if (labels.length < 2 || domain.length > DOMAIN_CHARACTERS_MAX || isIP(domain) !== 0) return null;
  return labels.every((label) => LABEL_PATTERN.test(label)) ? domain : null;
}
