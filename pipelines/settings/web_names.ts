import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { isPublicSuffix } from './public_suffixes.ts';

const DOMAIN_CHARACTERS_MAX = 253;
const WILDCARD = /^(https?:\/\/)\*\.([^*]+)$/i;
/** One label or more; the host that follows is not among them. */
const LABELS_PATTERN = /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/;
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
 * An origin of an allow-list: one as browsers write it, or with `*.` before the host, for every name below it. Null for
 * anything else, and for a wildcard below a public suffix, which would let strangers in.
 */
export function canonicalAllowedOrigin(text: string): string | null {
  const wildcard = WILDCARD.exec(text);
  if (wildcard === null) return text.includes('*') ? null : canonicalOrigin(text);
  const [, scheme = '', rest = ''] = wildcard;
  const origin = canonicalOrigin(scheme + rest);
  if (origin === null) return null;
  const { protocol, hostname, host } = new URL(origin);
  return canonicalDomain(hostname) === hostname && !isPublicSuffix(hostname) ? `${protocol}//*.${host}` : null;
}

/** Whether an origin, as a browser sends it, is one that an allow-list's entry means. */
export function isOriginAllowed(allowed: string, origin: string): boolean {
  if (allowed === origin) return true;
  const wildcard = WILDCARD.exec(allowed);
  if (wildcard === null) return false;
  const [, scheme = '', host = ''] = wildcard;
  const suffix = `.${host}`;
  if (!origin.startsWith(scheme) || !origin.endsWith(suffix)) return false;
  return LABELS_PATTERN.test(origin.slice(scheme.length, -suffix.length));
}

/** A name without the root's dot, with which one that is fully qualified may end (RFC 1034, 3.1). */
export function withoutRootDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

/**
 * A domain as settings keep it, whether it came in a setting, a certificate request or a Host header: lower-case punycode,
 * without the root's dot. Null for addresses, single labels and anything that is no host name.
 */
export function canonicalDomain(text: string): string | null {
  if (!/^[^\s/:?#@%[\]\\]+$/.test(text)) return null;
  const domain = withoutRootDot(domainToASCII(text));
  const labels = domain.split('.');
  if (labels.length < 2 || domain.length > DOMAIN_CHARACTERS_MAX || isIP(domain) !== 0) return null;
  return labels.every((label) => LABEL_PATTERN.test(label)) ? domain : null;
}
