import { isIP } from 'node:net';

/** Names under which this service may be asked, beside those of this machine's loopback. */
export interface OwnNames {
  /** Where people reach it; null: on this machine only. */
  publicUrl: URL | null;
  /** Further hosts, each with a port or without, that programs ask it under. */
  hosts: readonly string[];
}

/** The origin under which people use the service, and the cookie that it has there. */
export interface SignInPlace {
  origin: string;
  cookie: string;
  isSecure: boolean;
}

/** Of a request, what tells where it comes from. */
export interface RequestFacts {
  method: string;
  host: string | undefined;
  origin: string | undefined;
  /** The header Sec-Fetch-Site, which browsers set and pages cannot. */
  fetchSite: string | undefined;
  csrf: string | undefined;
}

/** A page cannot send it to another origin, as no preflight is answered. */
export const CSRF_HEADER = 'x-svc-csrf';
/** The prefix keeps neighbours under the same domain from setting it. */
const SECURE_COOKIE = '__Host-svc_session';
const LOOPBACK_COOKIE = 'svc_session';
const SECURE_FLOW_COOKIE = '__Host-svc_oidc';
const LOOPBACK_FLOW_COOKIE = 'svc_oidc';

/**
 * Whether a Host header names this service. A name that only leads here, as an attacker's DNS can make one, is refused: a
 * page under it would be of the same origin.
 */
export function isOwnHost(host: string | undefined, names: OwnNames): boolean {
  if (host === undefined) return false;
  const asked = plainHost(host, names);
  return isLoopback(asked) || asked === names.publicUrl?.host || names.hosts.some((own) => isSameHost(own, asked));
}

/** Where people sign in, if it is where this request was sent: under the public URL, or on this machine itself. */
export function signInPlace(host: string | undefined, names: OwnNames): SignInPlace | null {
  if (host === undefined) return null;
  const { publicUrl } = names;
  const asked = plainHost(host, names);
  if (publicUrl !== null && asked === publicUrl.host) {
    const isSecure = publicUrl.protocol === 'https:';
    return { origin: publicUrl.origin, cookie: isSecure ? SECURE_COOKIE : LOOPBACK_COOKIE, isSecure };
  }
  if (!isLoopback(asked)) return null;
  const url = URL.parse(`http://${asked}`);
  return url === null ? null : { origin: url.origin, cookie: LOOPBACK_COOKIE, isSecure: false };
}

/** Whether a request comes from a page of another origin. Programs send no Origin. */
export function isForeign({ host, origin, fetchSite }: RequestFacts, names: OwnNames): boolean {
  if (origin !== undefined && origin !== signInPlace(host, names)?.origin) return true;
  return fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none';
}

/** Whether a request may change something with a cookie: its page is of this origin, and said so on purpose. */
export function isDeliberate(facts: RequestFacts, names: OwnNames): boolean {
  if (isForeign(facts, names)) return false;
  if (facts.method === 'GET') return true;
  const isOfOwnPage = facts.origin !== undefined || facts.fetchSite === 'same-origin';
  return isOfOwnPage && facts.csrf === '1';
}

/** The value of a cookie; null where there is none, or more than one, of which somebody else may have set one. */
export function cookieValue(header: string | undefined, name: string): string | null {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? (values[0] ?? null) : null;
}

/** A Set-Cookie header; a value of null removes the cookie. */
export function setCookie(place: SignInPlace, value: string | null, maxAgeS: number): string {
  const age = value === null ? 0 : maxAgeS;
  const secure = place.isSecure ? '; Secure' : '';
  return `${place.cookie}=${value ?? ''}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${age}${secure}`;
}

/** The cookie of a sign-in that is under way at a provider, beside that of the session. */
export function flowPlace(place: SignInPlace): SignInPlace {
  return { ...place, cookie: place.isSecure ? SECURE_FLOW_COOKIE : LOOPBACK_FLOW_COOKIE };
}

/** Whatever its port: what leads to a port of this machine may be forwarded to another. */
function isLoopback(host: string): boolean {
  const name = nameOf(host);
  return name === 'localhost' || name === '[::1]' || (isIP(name) === 4 && name.startsWith('127.'));
}

const isSameHost = (own: string, asked: string): boolean => own === asked || own === nameOf(asked);

/** A Host as the public URL has it: without the root's dot, and without the port that its scheme has anyway. */
function plainHost(host: string, { publicUrl }: OwnNames): string {
  const [, name = '', port = ''] = /^(.*?)\.?(:\d*)?$/.exec(host.toLowerCase()) ?? [];
  const usual = publicUrl?.protocol === 'https:' ? ':443' : ':80';
  return name === publicUrl?.hostname && port === usual ? name : name + port;
}

const nameOf = (host: string): string => host.replace(/:\d*$/, '');
