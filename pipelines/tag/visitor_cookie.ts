import { registrableDomain } from '#pipelines/settings/public_suffixes.ts';

const NAME = 'svc_did';
/** 13 months of 30.4 days, which is below the 400 days that browsers keep a cookie at the most. */
const MAX_AGE_S = 34_128_000;
/** As the tag makes them: a UUID in lower case. */
const VALUE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The visitor's id in a Cookie header; null where there is none of ours, or where two contradict each other. */
export function visitorOf(cookieHeader: string | undefined): string | null {
  if (cookieHeader === undefined) return null;
  const values = new Set(cookieHeader.split(';').flatMap(idsIn));
  const [value] = values;
  return values.size === 1 && value !== undefined && VALUE.test(value) ? value : null;
}

function idsIn(pair: string): string[] {
  const at = pair.indexOf('=');
  return at > 0 && pair.slice(0, at).trim() === NAME ? [pair.slice(at + 1).trim()] : [];
}

/**
 * The Set-Cookie header that gives the visitor's cookie another 13 months on the whole of the domain that the claimed
 * host belongs to: browsers keep what a server sets for longer than what a script sets. Null for a host directly below which
 * strangers may have names. @param host Claimed by a site, in lower-case punycode.
 */
export function renewedCookie(visitor: string, host: string): string | null {
  const domain = registrableDomain(host);
  if (domain === null) return null;
  return `${NAME}=${visitor}; Max-Age=${MAX_AGE_S}; Path=/; SameSite=Lax; Secure; Domain=${domain}`;
}
