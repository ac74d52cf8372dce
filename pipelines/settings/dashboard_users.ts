// Users of the dashboard: what may be changed of them and by whom, and their second factors.

import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Grant, User } from '#schemas/setting.ts';
import { canGrant, isRole, may, type Principal, placeOf, type Role } from './access.ts';
import { isPlainText, type Problem, problem, unless } from './problems.ts';
import type { RandomBytes } from './secrets.ts';
import type { SettingsTable } from './table.ts';
import { personalProblems } from './validate.ts';

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
export const ANONYMOUS = 'sign-in';

/** How changes name a user. */
export const actorOf = (userId: string): string => USER_PREFIX + userId;

/** The user whom changes name so; null: it is no user. */
export const userOfActor = (actor: string): string | null =>
  actor.startsWith(USER_PREFIX) ? actor.slice(USER_PREFIX.length) : null;

/** How changes name what the configuration made at the first start. */
export const CONFIGURATION = 'configuration';

/** How the audit names what the watch over domains changes by itself. */
export const DOMAIN_WATCH = 'domain-watch';
/** How what is asked by a shared link is named. */
const LINK_PREFIX = 'shared link';

/** Whether a label would name somebody else than an admin token in the audit, or look as if it did. */
export function isReservedActor(label: string): boolean {
  const read = label.normalize('NFKC').replaceAll(/\p{C}/gu, '').trim().toLowerCase();
  const isOurs = [ANONYMOUS, CONFIGURATION, DOMAIN_WATCH].includes(read) || read.startsWith(LINK_PREFIX);
  return isOurs || read.startsWith(USER_PREFIX) || /[\p{Cf}\p{Cs}]/u.test(label);
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
function isOwnerOfAll({ disabled_at, grants, password, oidc_subjects }: User): boolean {
  return disabled_at === null && grants.some(ownsAll) && (password !== null || oidc_subjects.length > 0);
}

const ownsAll = (grant: Grant): boolean => grant.role === 'owner' && placeOf(grant) === 'installation';

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

type UserChanged =
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
  return user.grants.every((grant) => canGrant(manager, grant, 'users.manage', table));
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
  const isTheirs = [...taken, ...added].every((grant) => canGrant(manager, grant, 'users.manage', table));
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

const GRANTS_MAX = 100;

/** A grant with what it leaves out: no place is the whole installation. */
export function fullGrant({ role, account_id = null, site_id = null }: Partial<Grant> & Pick<Grant, 'role'>): Grant {
  return { role, account_id, site_id };
}

/** Whether two grants are of one role in one place. */
const isSameGrant = (one: Grant, other: Grant): boolean => isDeepStrictEqual(fullGrant(one), fullGrant(other));

/** Checks grants before they are written; no problem: they may be. */
export function grantProblems(grants: readonly Grant[], table: SettingsTable): Problem[] {
  const many = grants.length > GRANTS_MAX ? [problem('too_many', 'grants', `at most ${GRANTS_MAX} are taken`)] : [];
  return [...many, ...grants.flatMap((grant, index) => problemsOf(grant, index, grants, table))];
}

function problemsOf(grant: Grant, index: number, grants: readonly Grant[], table: SettingsTable): Problem[] {
  const field = `grants[${index}]`;
  const { role, account_id, site_id } = grant;
  if (!isRole(role)) return [problem('grant_malformed', field, 'has a role that there is not')];
  if (account_id !== null && site_id !== null) {
    return [problem('grant_malformed', field, 'names an account and a site: it is for one of them')];
  }
  if (grants.findIndex((other) => isSameGrant(other, grant)) !== index) {
    return [problem('repeated', field, 'is there twice')];
  }
  if (account_id !== null && table.account(account_id) === undefined) {
    return [problem('account_unknown', field, 'is for an account that there is not')];
  }
  if (site_id !== null && table.site(site_id) === undefined) {
    return [problem('site_unknown', field, 'is for a site that there is not')];
  }
  return [];
}

const LINKS_MAX = 10;

/** What is kept of an account at a provider: nobody reads out of it who that is. */
export const oidcSubject = (issuer: string, subject: string): string =>
  hash('sha256', JSON.stringify([issuer, subject]));

/** The user that an account at a provider is linked to. */
export function userOfSubject(table: SettingsTable, subject: string): User | undefined {
  return table.users().find(({ oidc_subjects }) => oidc_subjects.includes(subject));
}

type Linking = { ok: true; subjects: string[] } | { ok: false; code: 'oidc_linked_elsewhere' | 'limit_reached' };

/** The accounts of a user when another one is linked; one account is of one user. */
export function linkedSubjects(table: SettingsTable, user: User, subject: string): Linking {
  const owner = userOfSubject(table, subject);
  if (owner !== undefined && owner.user_id !== user.user_id) return { ok: false, code: 'oidc_linked_elsewhere' };
  const subjects = [...new Set([...user.oidc_subjects, subject])];
  return subjects.length > LINKS_MAX ? { ok: false, code: 'limit_reached' } : { ok: true, subjects };
}

/** What a sign-in at a provider says of when it was that somebody proved who they are. */
export interface ProviderSignIn {
  /** When the provider had them prove it, in milliseconds since 1970 UTC; null where it does not say. */
  authMs: number | null;
  /** When the provider was asked to have them prove it again; null where it was not. */
  askedAgainMs: number | null;
  /** Whether the provider is one that says no time, by its configuration. */
  isTimeOptional: boolean;
  hasPassword: boolean;
}

/** By how much the clock of a provider may be behind. */
const SKEW_MS = 60_000;

/**
 * When whoever signed in at a provider proved who they are; null: this proves nothing. A provider signs those in whom it
 * knows already, so a sign-in as such is none. What asks it to prompt goes by way of the browser, where whoever found that
 * open may take it out: the signed time alone says that it did. One that says no time is believed where it is configured
 * so, it was asked for a proof, and there is no password to ask for.
 */
export function provenAtProviderMs(
  { authMs, askedAgainMs, isTimeOptional, hasPassword }: ProviderSignIn,
  nowMs: number,
): number | null {
  if (authMs === null) return askedAgainMs !== null && isTimeOptional && !hasPassword ? nowMs : null;
  if (askedAgainMs !== null && authMs < askedAgainMs - SKEW_MS) return null;
  return Math.min(authMs, nowMs);
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const SECRET_BYTES = 20;
const STEP_S = 30;
const DIGITS = 6;
const CODE_PATTERN = /^\d{6}$/;
/** Clocks of phones are off by up to a step. */
const STEPS_AROUND = [0, -1, 1];

/** A secret for a second factor, in base32 as apps take it. */
export function newTotpSecret(randomBytes: RandomBytes): string {
  return base32(randomBytes(SECRET_BYTES));
}

/** What an app reads from a QR code (Key URI format). */
export function totpUri(secret: string, issuer: string, userId: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(userId)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
}

export const isTotpCode = (text: string): boolean => CODE_PATTERN.test(text);

/** The step whose code it is, now or one before or after; null: it is none. A step's code may be used once. */
export function totpStep(secret: string, code: string, nowMs: number): number | null {
  if (!isTotpCode(code)) return null;
  const now = Math.floor(nowMs / 1000 / STEP_S);
  const found = STEPS_AROUND.map((offset) => now + offset).filter((step) =>
    timingSafeEqual(Buffer.from(totpCode(secret, step)), Buffer.from(code)),
  );
  return found[0] ?? null;
}

/** The code of a step: RFC 6238 over the HMAC-SHA-1 of RFC 4226. */
export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 0xf;
  const number = (digest.readUInt32BE(offset) & 0x7fff_ffff) % 10 ** DIGITS;
  return String(number).padStart(DIGITS, '0');
}

export function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}

function fromBase32(text: string): Buffer {
  const bits = text.replaceAll(/./g, (deadLetter) => ALPHABET.indexOf(deadLetter).toString(2).padStart(5, '0'));
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}
