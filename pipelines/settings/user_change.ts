import type { Grant, User } from '#schemas/setting.ts';
import { may, mayGive, type Principal, placeOf } from './access.ts';
import { isOwnerOfAll, ownersOfAll, sessionsEndedAt } from './dashboard_users.ts';
import { fullGrant, grantProblems, isSameGrant } from './grants.ts';
import { type Problem, unless } from './problem.ts';
import type { SettingsTable } from './table.ts';
import { isPlainText } from './text_rules.ts';
import { personalProblems } from './validate.ts';

/** What is to be changed of a user; what is left out stays. */
export interface UserChange {
  name?: string;
  grants?: readonly Grant[];
  disabled?: boolean;
  /** The sealed hash of a new password; null: no sign-in by one. */
  password?: string | null;
  /** Removes the second factor, and ends all sessions. */
  removesSecondFactor?: boolean;
  /** Unlinks the accounts at providers. */
  removesLinks?: boolean;
  endsSessions?: boolean;
}

export type UserChanged =
  | { ok: true; user: User }
  | { ok: false; code: 'permission_missing' | 'owner_last' }
  | { ok: false; code: 'settings_invalid'; problems: Problem[] };

const NAME_CHARACTERS_MAX = 100;

/** Whether somebody manages users in a place that a user has a grant in; then they see the user, with those grants. */
export function seesUser(manager: Pick<Principal, 'grants'>, user: User, table: SettingsTable): boolean {
  return seesAll(manager, table) || user.grants.some((grant) => seesGrant(manager, grant, table));
}

export function seesGrant(manager: Pick<Principal, 'grants'>, grant: Grant, table: SettingsTable): boolean {
  return may(manager, 'users.manage', placeOf(grant), table);
}

/**
 * Whether somebody may decide over a user as such: whoever could have given all that the user may. Else a new password for
 * somebody who may more would be a way to it.
 */
export function managesUser(manager: Pick<Principal, 'grants'>, user: User, table: SettingsTable): boolean {
  if (user.grants.length === 0) return seesAll(manager, table);
  return user.grants.every((grant) => mayGive(manager, grant, 'users.manage', table));
}

const seesAll = (manager: Pick<Principal, 'grants'>, table: SettingsTable): boolean =>
  may(manager, 'users.manage', 'installation', table);

/**
 * A user as somebody changes it. Grants are those in the places where they manage users: what the user may elsewhere stays.
 *
 * @param before Null for a new user, which `blank` is then.
 */
export function changedUser(
  manager: Pick<Principal, 'grants'>,
  blank: User,
  before: User | null,
  change: UserChange,
  table: SettingsTable,
  nowMs: number,
): UserChanged {
  const base = before ?? blank;
  const { grants: given, ...rest } = change;
  const isOfItself = Object.values(rest).some((value) => value !== undefined);
  if (before !== null && isOfItself && !managesUser(manager, before, table))
    return { ok: false, code: 'permission_missing' };
  const grants = given === undefined ? base.grants : grantsAfter(manager, base.grants, given.map(fullGrant), table);
  if (grants === null) return { ok: false, code: 'permission_missing' };
  const user = withChange({ ...base, grants }, change, nowMs);
  const problems = userProblems(user, base, table);
  if (problems.length > 0) return { ok: false, code: 'settings_invalid', problems };
  if (before !== null && isLastOwner(before, user, table)) return { ok: false, code: 'owner_last' };
  return { ok: true, user };
}

/** The grants a user has then; null where one is given or taken away that is not the manager's to give. */
function grantsAfter(
  manager: Pick<Principal, 'grants'>,
  before: readonly Grant[],
  given: readonly Grant[],
  table: SettingsTable,
): Grant[] | null {
  const has = (grants: readonly Grant[], one: Grant): boolean => grants.some((grant) => isSameGrant(grant, one));
  const hidden = before.filter((grant) => !seesGrant(manager, grant, table));
  const taken = before.filter((grant) => !has(hidden, grant) && !has(given, grant));
  const added = given.filter((grant) => !has(before, grant));
  const isTheirs = [...taken, ...added].every((grant) => mayGive(manager, grant, 'users.manage', table));
  return isTheirs ? [...hidden, ...given.filter((grant) => !has(hidden, grant))] : null;
}

function withChange(user: User, change: UserChange, nowMs: number): User {
  const { name = user.name, password = user.password, disabled } = change;
  const isDisabled = disabled ?? user.disabled_at !== null;
  const endsSessions =
    change.endsSessions === true ||
    change.removesSecondFactor === true ||
    change.removesLinks === true ||
    change.password !== undefined ||
    (isDisabled && user.disabled_at === null);
  return {
    ...user,
    name,
    password,
    disabled_at: isDisabled ? (user.disabled_at ?? nowMs) : null,
    // One more than now, as what began in this millisecond began before.
    sessions_from: endsSessions ? sessionsEndedAt(user, nowMs) : user.sessions_from,
    ...(change.removesLinks === true ? { oidc_subjects: [] } : {}),
    ...(change.removesSecondFactor === true ? { totp: null, recovery_codes: [] } : {}),
  };
}

/** A grant that was there already may be for what is there no more. */
function userProblems({ name, grants }: User, before: User, table: SettingsTable): Problem[] {
  const fresh = grants.filter((grant) => !before.grants.some((one) => isSameGrant(one, grant)));
  return [
    ...unless(isPlainText(name, 1, NAME_CHARACTERS_MAX), 'name_malformed', 'name', 'has 1 to 100 characters'),
    ...personalProblems(name, 'name'),
    ...grantProblems(fresh, table),
  ];
}

function isLastOwner(before: User, after: User, table: SettingsTable): boolean {
  const owners = ownersOfAll(table);
  const wasOne = owners.some(({ user_id }) => user_id === before.user_id);
  return wasOne && !isOwnerOfAll(after) && owners.length === 1;
}
