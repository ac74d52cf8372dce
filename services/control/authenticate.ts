import type { Session } from '#infra/redis/sessions.ts';
import { OWNER_OF_ALL, type Principal } from '#pipelines/settings/access.ts';
import { checkKnownToken, checkToken, type TokenCheck } from '#pipelines/settings/admin_tokens.ts';
import { actorOf, isSessionValid } from '#pipelines/settings/dashboard_users.ts';
import type { SettingsJournal } from '#pipelines/settings/journal.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { AdminToken, User } from '#schemas/setting.ts';
import type { ControlErrorCode } from './errors.ts';
import {
  cookieValue,
  isDeliberate,
  isForeign,
  type OwnNames,
  type RequestFacts,
  signInPlace,
} from './request_guard.ts';
import type { SessionKeeper } from './session_keeper.ts';

/** Who sent a request, and the session that they are in; a token is in none. */
export interface Caller {
  principal: Principal;
  session: Session | null;
}

/** By what somebody is found in the settings. */
export type PrincipalId = Pick<Principal, 'kind' | 'id'>;

export type Authentication = { ok: true; caller: Caller } | { ok: false; code: ControlErrorCode };

export interface Credentials extends RequestFacts {
  authorization: string | undefined;
  cookies: string | undefined;
}

interface AuthenticationParts {
  journal: SettingsJournal;
  sessions: SessionKeeper;
  ownNames: OwnNames;
  nowMs(): number;
}

/**
 * Who sent a request: by its admin token, else by the session whose cookie it carries. A browser adds the cookie to
 * requests of any page, so with it a change must be asked for by a page of our own.
 */
export async function authenticate(parts: AuthenticationParts, credentials: Credentials): Promise<Authentication> {
  if (isForeign(credentials, parts.ownNames)) return { ok: false, code: 'origin_foreign' };
  if (credentials.authorization !== undefined) return byToken(parts, credentials.authorization);
  const place = signInPlace(credentials.host, parts.ownNames);
  const value = place === null ? null : cookieValue(credentials.cookies, place.cookie);
  if (value === null) return { ok: false, code: 'token_missing' };
  if (!isDeliberate(credentials, parts.ownNames)) return { ok: false, code: 'csrf_missing' };
  const session = await parts.sessions.find(value);
  return session === null ? { ok: false, code: 'session_over' } : inSession(parts.journal.view().table, session);
}

function inSession(table: SettingsTable, session: Session): Authentication {
  const user = table.user(session.userId);
  if (!isSessionValid(user, session.createdMs)) return { ok: false, code: 'session_over' };
  return { ok: true, caller: { principal: principalOfUser(user), session } };
}

function byToken({ journal, nowMs }: AuthenticationParts, authorization: string): Authentication {
  const presented = /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? null;
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
