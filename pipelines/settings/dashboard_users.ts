import type { Grant, User } from '#schemas/setting.ts';
import { placeOf, type Role } from './access.ts';
import type { SettingsTable } from './table.ts';

/** A user as new ones are: nobody can sign in as them yet. */
export function blankUser(userId: string, name: string, nowMs: number): User {
  return {
    user_id: userId,
    name,
    created_at: nowMs,
    disabled_at: null,
    grants: [],
    password: null,
    totp: null,
    recovery_codes: [],
    oidc_subjects: [],
    sessions_from: 0,
  };
}

const USER_PREFIX = 'user:';
/** How the audit names a try to sign in, by whoever made it. */
export const STRANGER = 'sign-in';

/** How changes name a user. */
export const actorOf = (userId: string): string => USER_PREFIX + userId;

/** The user whom changes name so; null: it is no user. */
export const userOfActor = (actor: string): string | null =>
  actor.startsWith(USER_PREFIX) ? actor.slice(USER_PREFIX.length) : null;

/** How changes name what the configuration made at the first start. */
export const CONFIGURATION = 'configuration';

/** Whether a label would name somebody else than an admin token in the audit, or look as if it did. */
export function isReservedActor(label: string): boolean {
  const read = label.normalize('NFKC').replaceAll(/\p{C}/gu, '').trim().toLowerCase();
  return read.startsWith(USER_PREFIX) || read === STRANGER || read === CONFIGURATION || /[\p{Cf}\p{Cs}]/u.test(label);
}

/** Whether a session that began then goes on, as far as the user's settings say. */
export function isSessionValid(user: User | undefined, createdMs: number): user is User {
  return user !== undefined && user.disabled_at === null && createdMs >= user.sessions_from;
}

/** The `sessions_from` by which all sessions end that a user has: also those that begin in this millisecond. */
export function sessionsEndedAt({ sessions_from }: User, nowMs: number): number {
  return Math.max(nowMs, sessions_from) + 1;
}

/**
 * Whether a user may do nothing but set up a second factor, as a role of theirs takes one. Who signs in at a provider alone has the
 * provider's.
 *
 * @param roles those that take a second factor, anywhere.
 */
export function lacksSecondFactor({ password, totp, grants }: User, roles: readonly Role[]): boolean {
  return password !== null && totp === null && grants.some(({ role }) => (roles as readonly string[]).includes(role));
}

/** Users who own the whole installation and may sign in. */
export function ownersOfAll(table: SettingsTable): User[] {
  return table.users().filter(isOwnerOfAll);
}

/** Whether a user owns the whole installation, and may sign in. */
export function isOwnerOfAll({ disabled_at, grants, password, oidc_subjects }: User): boolean {
  return disabled_at === null && grants.some(ownsAll) && (password !== null || oidc_subjects.length > 0);
}

const ownsAll = (grant: Grant): boolean => grant.role === 'owner' && placeOf(grant) === 'installation';
