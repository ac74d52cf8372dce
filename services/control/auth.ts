// Who sent a request, and whether they may: origin and CSRF guards, tokens and sessions, then the permission a route
// needs.

import { isIP } from 'node:net';
import type { Session } from '#infra/redis/sessions.ts';
import {
  hasPermissionAnywhere,
  may,
  OWNER_OF_ALL,
  type Permission,
  type Place,
  type Principal,
} from '#pipelines/settings/access.ts';
import { checkKnownToken, checkToken, type TokenCheck } from '#pipelines/settings/admin_tokens.ts';
import { actorOf, isSessionValid, lacksSecondFactor } from '#pipelines/settings/dashboard_users.ts';
import type { SettingsJournal, SettingsView } from '#pipelines/settings/journal.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { AdminToken, User } from '#schemas/setting.ts';
import type { ControlErrorCode } from './errors.ts';
import type { Access, Input } from './route.ts';
import type { CachedSessionStore, SignInParts } from './users/sign_in.ts';

/** Who sent a request, and the session that they are in; a token is in none. */
export interface Caller {
  principal: Principal;
  session: Session | null;
}

/** By what somebody is found in the settings. */
export type PrincipalId = Pick<Principal, 'kind' | 'id'>;

type Authentication = { ok: true; caller: Caller } | { ok: false; code: ControlErrorCode };

interface Credentials extends RequestFacts {
  authorization: string | undefined;
  cookies: string | undefined;
}

interface AuthenticationParts {
  journal: SettingsJournal;
  sessions: CachedSessionStore;
  ownNames: OwnNames;
  nowMs(): number;
}

/**
 * Who sent a request: by its admin token, else by the session whose cookie it carries. A browser adds the cookie to
 * requests of any page, so with it a change must be asked for by a page of our own.
 */
export async function authenticate(parts: AuthenticationParts, credentials: Credentials): Promise<Authentication> {
  if (isCrossOrigin(credentials, parts.ownNames)) return { ok: false, code: 'origin_foreign' };
  if (credentials.authorization !== undefined) return byToken(parts, credentials.authorization);
  const place = sessionCookieFor(credentials.host, parts.ownNames);
  const value = place === null ? null : cookieValue(credentials.cookies, place.cookie);
  if (value === null) return { ok: false, code: 'token_missing' };
  if (!hasCsrfHeader(credentials, parts.ownNames)) return { ok: false, code: 'csrf_missing' };
  const session = await parts.sessions.find(value);
  return session === null ? { ok: false, code: 'session_over' } : inSession(parts.journal.view().table, session);
}

function inSession(table: SettingsTable, session: Session): Authentication {
  const user = table.user(session.userId);
  if (!isSessionValid(user, session.createdMs)) return { ok: false, code: 'session_over' };
  return { ok: true, caller: { principal: principalOfUser(user), session } };
}

/** What an Authorization header bears; null where it bears nothing. */
export const bearerOf = (authorization: string | undefined): string | null =>
  /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? null;

function byToken({ journal, nowMs }: AuthenticationParts, authorization: string): Authentication {
  const presented = bearerOf(authorization);
  return withToken(checkToken(journal.view().table, presented, nowMs()));
}

function withToken(check: TokenCheck): Authentication {
  return check.ok ? { ok: true, caller: { principal: principalOfToken(check.token), session: null } } : check;
}

/**
 * Who sent a request, by settings that are newer than those it came under: a body may take half a minute to arrive, in which
 * a user is disabled or a token revoked.
 */
export function stillKnown(table: SettingsTable, { principal, session }: Caller, nowMs: number): Authentication {
  return session === null ? withToken(checkKnownToken(table, principal.id, nowMs)) : inSession(table, session);
}

/** Somebody as they are by some settings: null where they may do nothing any more, as a disabled user or a revoked token. */
export function principalNow(table: SettingsTable, { kind, id }: PrincipalId, nowMs: number): Principal | null {
  if (kind === 'user') {
    const user = table.user(id);
    return user === undefined || user.disabled_at !== null ? null : principalOfUser(user);
  }
  const check = checkKnownToken(table, id, nowMs);
  return check.ok ? principalOfToken(check.token) : null;
}

export function principalOfUser({ user_id, name, grants }: User): Principal {
  return { kind: 'user', id: user_id, name, actor: actorOf(user_id), grants };
}

function principalOfToken({ token_hash, label, grants }: AdminToken): Principal {
  return { kind: 'token', id: token_hash, name: label, actor: label, grants: grants ?? [OWNER_OF_ALL] };
}

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
export function sessionCookieFor(host: string | undefined, names: OwnNames): SignInPlace | null {
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
export function isCrossOrigin({ host, origin, fetchSite }: RequestFacts, names: OwnNames): boolean {
  if (origin !== undefined && origin !== sessionCookieFor(host, names)?.origin) return true;
  return fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none';
}

/** Whether a request may change something with a cookie: its page is of this origin, and said so on purpose. */
export function hasCsrfHeader(facts: RequestFacts, names: OwnNames): boolean {
  if (isCrossOrigin(facts, names)) return false;
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
export function oidcCookieFor(place: SignInPlace): SignInPlace {
  return { ...place, cookie: place.isSecure ? SECURE_FLOW_COOKIE : LOOPBACK_FLOW_COOKIE };
}

/** Whatever its port: what leads to a port of this machine may be forwarded to another. */
function isLoopback(host: string): boolean {
  const name = nameOf(host);
  return name === 'localhost' || name === '[::1]' || (isIP(name) === 4 && name.startsWith('127.'));
}

const nameOf = (host: string): string => host.replace(/:\d*$/, '');

const isSameHost = (own: string, asked: string): boolean => own === asked || own === nameOf(asked);

/** A Host as the public URL has it: without the root's dot, and without the port that its scheme has anyway. */
function plainHost(host: string, { publicUrl }: OwnNames): string {
  const [, name = '', port = ''] = /^(.*?)\.?(:\d*)?$/.exec(host.toLowerCase()) ?? [];
  const usual = publicUrl?.protocol === 'https:' ? ':443' : ':80';
  return name === publicUrl?.hostname && port === usual ? name : name + port;
}

/** Who asks as they are by some settings, or why they may not; `place`: where they lack the permission. */
type AuthorizationResult =
  | { ok: true; caller: Caller }
  | { ok: false; code: ControlErrorCode; place: Place | 'listed' | null };

/** Judges whether who asked may do it, by the settings that are given. */
export type Judge = (view: SettingsView) => AuthorizationResult;

/**
 * Whoever asked may be disabled, or their token revoked, or they be given less, while a body arrives, a password is hashed or
 * other changes have their turn: what they ask for is judged again by the very settings that it changes. Who lacks a second factor
 * that their role takes may do what everybody known may, which is to set one up.
 */
export function authorizerFor(
  access: Access,
  input: Input,
  arrived: Caller,
  { nowMs, secondFactorRoles }: Pick<SignInParts, 'nowMs' | 'secondFactorRoles'>,
): Judge {
  return (view) => {
    const still = stillKnown(view.table, arrived, nowMs());
    if (!still.ok) return { ...still, place: null };
    const { session } = still.caller;
    const user = session === null || access === 'known' ? undefined : view.table.user(session.userId);
    if (user !== undefined && lacksSecondFactor(user, secondFactorRoles)) {
      return { ok: false, code: 'second_factor_required', place: null };
    }
    const lacked = missingPermission(access, input, still.caller.principal, view);
    return lacked === null ? still : { ok: false, code: 'permission_missing', place: lacked.place };
  };
}

/** The permission that somebody lacks for a route, and where; null: they may. */
export function missingPermission(
  access: Access,
  input: Input,
  principal: Principal,
  view: SettingsView,
): { permission: Permission; place: Place | 'listed' } | null {
  if (typeof access === 'string') return null;
  const permission = access.choose?.(input, view) ?? access.permission;
  const found = access.of(input, view, principal);
  if (found === 'listed') return hasPermissionAnywhere(principal, permission) ? null : { permission, place: found };
  const places = Array.isArray(found) ? (found as readonly Place[]) : [found as Place];
  const place = places.find((one) => !may(principal, permission, one, view.table));
  return place === undefined ? null : { permission, place };
}
