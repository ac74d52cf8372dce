// HTTP of what the tag loads: content coding, entity tags and the visitor's cookie.
import { registrableDomain } from '#pipelines/settings/public_suffixes.ts';

/** How a body may be coded (RFC 9110 section 8.4.1), the smallest first. */
const CODINGS: readonly Coding[] = ['br', 'gzip', 'identity'];
export type Coding = 'br' | 'gzip' | 'identity';

/** What a client that names some codings thinks of a plain body which it does not name: better than nothing. */
const UNNAMED_IDENTITY = 0.001;

/**
 * The coding that an Accept-Encoding header likes best, the smallest of equals (RFC 9110 section 12.5.3). Without the header,
 * and where nothing we have is acceptable, a plain body.
 */
export function chooseCoding(acceptEncoding: string | undefined): Coding {
  if (acceptEncoding === undefined) return 'identity';
  const weights = weightsOf(acceptEncoding);
  const others = weights.get('*');
  const liked: Record<Coding, number> = {
    br: weights.get('br') ?? others ?? 0,
    gzip: weights.get('gzip') ?? weights.get('x-gzip') ?? others ?? 0,
    identity: weights.get('identity') ?? (others === 0 ? 0 : UNNAMED_IDENTITY),
  };
  const best = CODINGS.reduce((best, coding) => (liked[coding] > liked[best] ? coding : best));
  return liked[best] > 0 ? best : 'identity';
}

function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const quality = parameters.find((text) => text.startsWith('q='))?.slice(2) ?? '1';
    // One that cannot be read is not wanted.
    weights.set(name, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(quality) ? Number(quality) : 0);
  }
  return weights;
}

const TAG = /(?:W\/)?"[^"]*"/g;

/**
 * Whether an If-None-Match header names the entity tag, so that the answer is 304. The comparison is the weak one, as a
 * cache on the way may have weakened ours (RFC 9110 section 13.1.2).
 */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return (ifNoneMatch.match(TAG) ?? []).some((known) => known.replace(/^W\//, '') === etag);
}

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
