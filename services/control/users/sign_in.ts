// Signing in by password and second factor: the check, the session it begins, the sealed secrets, and the audit of it.

import { hash } from 'node:crypto';
import type { Logger } from '#infra/log/logger.ts';
import type { ProviderClient } from '#infra/oidc/provider_client.ts';
import { RedisUnavailableError } from '#infra/redis/client.ts';
import type { OneTimeTokens, Session, SessionStore, SignInLimits } from '#infra/redis/sessions.ts';
import { type PasswordLine, type Passwords, PasswordsBusyError } from '#infra/secrets/password.ts';
import { type KeyRing, openSecret, type SecretPlace, sealSecret } from '#infra/secrets/seal.ts';
import type { Principal, Role } from '#pipelines/settings/access.ts';
import { accountOfFact, accountOfGrants } from '#pipelines/settings/audit.ts';
import { ANONYMOUS, actorOf, isTotpCode, totpStep } from '#pipelines/settings/dashboard_users.ts';
import { auditedRecords, JournalError, notedRecord, type SettingsJournal } from '#pipelines/settings/journal.ts';
import type { RandomBytes } from '#pipelines/settings/secrets.ts';
import { shareKey, userKey } from '#pipelines/settings/table.ts';
import type { ShareLink, User } from '#schemas/setting.ts';
import type { ControlErrorCode } from '../errors.ts';

/** Seals what a user signs in with, each for its own user and field. */
export interface UserSecrets {
  seal(userId: string, field: 'password' | 'totp', value: string): string;
  /** Null where it cannot be opened. */
  open(userId: string, field: 'password' | 'totp', sealed: string): string | null;
}

export interface SignInParts {
  journal: SettingsJournal;
  sessions: CachedSessionStore;
  limits: SignInLimits;
  passwords: Passwords;
  userSecrets: UserSecrets;
  signInAudit: SignInAudit;
  /** Sign-ins at providers. */
  oidc: { providers: readonly ProviderClient[]; notes: OneTimeTokens };
  /** Of whoever has one of them and a password, a second factor is required. */
  secondFactorRoles: readonly Role[];
  randomBytes: RandomBytes;
  nowMs(): number;
}

/** What is sent to sign in, and where from. */
interface SignInTry {
  userId: string;
  password: string;
  code: string | null;
  network: string;
  browser: string;
}

export type SignInResult =
  | { ok: true; user: User; value: string; session: Session }
  | { ok: false; code: ControlErrorCode; waitMs?: number };

/**
 * Signs a user in. A user that there is not, one that is disabled and a wrong password are answered alike, and take as
 * long; which of them it was stands in the log and the audit.
 *
 * @throws SessionsUnavailableError, JournalError
 */
export async function signIn(parts: SignInParts, tried: SignInTry): Promise<SignInResult> {
  const { journal, limits, signInAudit } = parts;
  const { userId, network } = tried;
  const waitMs = await reached(limits.tryPassword(userId, network));
  const user = journal.view().table.user(userId);
  if (waitMs > 0) {
    signInAudit.signInRefused(user?.user_id ?? null, 'limited', network);
    return { ok: false, code: 'sign_in_limited', waitMs };
  }
  const line = (await reached(limits.isKnown(userId, network))) ? 'known' : 'anybody';
  const isTheirs = await isRight(parts, user, tried.password, line);
  if (isTheirs === 'busy') return { ok: false, code: 'sign_in_busy' };
  if (!isTheirs || user === undefined || user.disabled_at !== null) {
    signInAudit.signInRefused(user?.user_id ?? null, user?.disabled_at ? 'disabled' : 'password', network);
    return { ok: false, code: 'sign_in_refused' };
  }
  const refusal = await secondFactorRefusal(parts, user, tried);
  return refusal ?? begun(parts, user, { ...tried, provenMs: parts.nowMs() });
}

/** Whether it is the password of somebody who may sign in by one. */
export async function isRight(
  { passwords, userSecrets }: Pick<SignInParts, 'passwords' | 'userSecrets'>,
  user: User | undefined,
  password: string,
  line: PasswordLine,
): Promise<boolean | 'busy'> {
  const sealed = user?.password ?? null;
  const stored = user === undefined || sealed === null ? null : userSecrets.open(user.user_id, 'password', sealed);
  try {
    return await passwords.verify(password, stored, line);
  } catch (error) {
    if (error instanceof PasswordsBusyError) return 'busy';
    throw error;
  }
}

/** Why somebody whose password is right may not go on, by the code that came with it; null: they may. */
export async function secondFactorRefusal(
  parts: SignInParts,
  user: User,
  { code, network }: Pick<SignInTry, 'code' | 'network'>,
): Promise<Extract<SignInResult, { ok: false }> | null> {
  if (user.totp === null) return null;
  if (code === null) {
    parts.signInAudit.codeAsked(user.user_id, network);
    return { ok: false, code: 'second_factor_needed' };
  }
  const waitMs = await reached(parts.limits.tryCode(user.user_id));
  if (waitMs > 0) {
    parts.signInAudit.signInRefused(user.user_id, 'limited', network);
    return { ok: false, code: 'sign_in_limited', waitMs };
  }
  if (await useCode(parts, user, code)) return null;
  parts.signInAudit.signInRefused(user.user_id, 'code', network);
  return { ok: false, code: 'second_factor_refused' };
}

/** Whether a code is right, and was not used before: it is used now. */
export async function useCode(
  { journal, limits, userSecrets, nowMs }: Pick<SignInParts, 'journal' | 'limits' | 'userSecrets' | 'nowMs'>,
  user: User,
  code: string,
): Promise<boolean> {
  if (!isTotpCode(code)) return useRecoveryCode(journal, user.user_id, code, nowMs());
  const secret = user.totp === null ? null : userSecrets.open(user.user_id, 'totp', user.totp);
  const step = secret === null ? null : totpStep(secret, code, nowMs());
  return step !== null && reached(limits.useStep(user.user_id, step));
}

/** As it is typed: with or without its dashes, in capitals or not. */
export const recoveryHash = (code: string): string => hash('sha256', code.replaceAll(/[\s-]/g, '').toLowerCase());

function useRecoveryCode(journal: SettingsJournal, userId: string, code: string, nowMs: number): Promise<boolean> {
  return journal.change((view) => {
    const user = view.table.user(userId);
    const left = user?.recovery_codes.filter((one) => one !== recoveryHash(code)) ?? [];
    if (user === undefined || left.length === user.recovery_codes.length) return { records: [], result: false };
    const facts = [{ body: { user: { ...user, recovery_codes: left } } }];
    return { records: auditedRecords(view, facts, actorOf(userId), nowMs), result: true };
  });
}

/**
 * Begins the session of somebody who is known, by what is still so: a password that was changed while it was
 * looked at lets nobody in.
 */
export async function begun(
  { journal, sessions, limits, signInAudit }: SignInParts,
  user: User,
  { network, browser, provenMs }: Pick<Session, 'network' | 'browser' | 'provenMs'>,
): Promise<SignInResult> {
  if (!isStillSo(user, journal.view().table.user(user.user_id))) {
    signInAudit.signInRefused(user.user_id, 'changed', network);
    return { ok: false, code: 'sign_in_refused' };
  }
  const begins = { userId: user.user_id, network, browser, provenMs };
  const { value, session } = await sessions.begin(begins, user.sessions_from);
  await reached(limits.forget(user.user_id, network));
  signInAudit.signedIn(user.user_id, { network, browser });
  return { ok: true, user, value, session };
}

function isStillSo(proven: User, now: User | undefined): boolean {
  if (now === undefined || now.disabled_at !== null) return false;
  return (['password', 'totp', 'sessions_from'] as const).every((name) => now[name] === proven[name]);
}

/** Redis does not answer, and what was asked is not known without it. */
export class SessionsUnavailableError extends Error {
  readonly code = 'sessions_unavailable' as const;
}

/** Sessions by what browsers keep of them. Every call may throw SessionsUnavailableError. */
export interface CachedSessionStore {
  /** Begins a session; its value is for the browser alone. Sessions from before `notBeforeMs` would be over. */
  begin(
    of: Pick<Session, 'userId' | 'network' | 'browser' | 'provenMs'>,
    notBeforeMs?: number,
  ): Promise<{ value: string; session: Session }>;
  /** The session of a value that goes on. Those seen in the last quarter of an hour are known without Redis. */
  find(value: string): Promise<Session | null>;
  list(userId: string): Promise<Session[]>;
  /** Notes for a while that whoever is in the session has proven who they are. */
  prove(id: string, forMs: number): Promise<void>;
  isRecentlyAuthenticated(id: string): Promise<boolean>;
  /** Keeps the sealed secret of a second factor that is being set up in the session, for a while. */
  holdFactor(id: string, sealed: string, forMs: number): Promise<void>;
  heldFactor(id: string): Promise<string | null>;
  end(userId: string, id: string): Promise<boolean>;
}

const VALUE_BYTES = 32;
const VALUE_PATTERN = /^[A-Za-z0-9_-]{43}$/;
const REMEMBERED_MS = 15 * 60_000;
const REMEMBERED_MAX = 10_000;
/** After Redis did not answer, it is not waited for again so soon. */
const AWAY_MS = 2_000;

export function createSessionKeeper(
  store: SessionStore,
  randomBytes: RandomBytes,
  nowMs: () => number,
): CachedSessionStore {
  /** Sessions with when Redis last said that they go on, the longest ago first. */
  const remembered = new Map<string, { session: Session; atMs: number }>();
  let awayMs = Number.NEGATIVE_INFINITY;
  /** The time of day may be set back: what seems to lie ahead is as old as it is far. */
  const spanTo = (atMs: number): number => Math.abs(nowMs() - atMs);

  const remember = (session: Session): void => {
    remembered.delete(session.id);
    remembered.set(session.id, { session, atMs: nowMs() });
    const [oldest] = remembered.keys();
    if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest);
  };
  const recall = (id: string): Session => {
    const known = remembered.get(id);
    if (known === undefined || spanTo(known.atMs) > REMEMBERED_MS) {
      throw new SessionsUnavailableError('redis does not answer');
    }
    return known.session;
  };

  return {
    async begin(of, notBeforeMs = 0) {
      const value = Buffer.from(randomBytes(VALUE_BYTES)).toString('base64url');
      const session = { ...of, id: hash('sha256', value), createdMs: Math.max(nowMs(), notBeforeMs), seenMs: nowMs() };
      await reached(store.begin(session));
      remember(session);
      return { value, session };
    },
    async find(value) {
      if (!VALUE_PATTERN.test(value)) return null;
      const id = hash('sha256', value);
      if (spanTo(awayMs) < AWAY_MS) return recall(id);
      try {
        const session = await store.find(id);
        if (session === null) remembered.delete(id);
        else remember(session);
        return session;
      } catch (error) {
        if (!(error instanceof RedisUnavailableError)) throw error;
        awayMs = nowMs();
        return recall(id);
      }
    },
    list: (userId) => reached(store.list(userId)),
    prove: (id, forMs) => reached(store.prove(id, forMs)),
    isRecentlyAuthenticated: (id) => reached(store.isRecentlyAuthenticated(id)),
    holdFactor: (id, sealed, forMs) => reached(store.holdFactor(id, sealed, forMs)),
    heldFactor: (id) => reached(store.heldFactor(id)),
    async end(userId, id) {
      // Also where Redis is away: then it ends here at least.
      if (remembered.get(id)?.session.userId === userId) remembered.delete(id);
      return reached(store.end(userId, id));
    },
  };
}

/** Turns the error of Redis into one that says what is unavailable without it. */
export async function reachedOr<T>(
  asked: Promise<T>,
  Unavailable: new (message: string) => Error & { code: string },
): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof RedisUnavailableError) throw new Unavailable('redis does not answer');
    throw error;
  }
}

/** Of sessions. */
export const reached = <T>(asked: Promise<T>): Promise<T> => reachedOr(asked, SessionsUnavailableError);

/**
 * Seals what users sign in with by the keys that seal destinations' secrets. What does not open is logged: to whoever signs in
 * it looks like a wrong password, and the cause is most often a key that was taken out of the ring.
 */
export function createUserSecrets(ring: KeyRing, randomBytes: RandomBytes, logger: Pick<Logger, 'error'>): UserSecrets {
  return {
    seal: (userId, field, value) => sealSecret(ring, userSecretPlace(userId, field), value, randomBytes),
    open(userId, field, sealed) {
      const opened = openSecret(ring, userSecretPlace(userId, field), sealed);
      if (opened.ok) return opened.value;
      logger.error({ user: userId, field, code: opened.code }, "a user's secret cannot be decrypted with SECRETS_KEYS");
      return null;
    },
  };
}

/** No site has an empty id, so no secret of a destination opens as one of a user. */
export function userSecretPlace(userId: string, field: string): SecretPlace {
  return { siteId: '', destination: 'user', field: `${userId}/${field}` };
}

/** Says at start whose password or second factor does not open, as they cannot sign in and are not told why. */
export function warnOfUnopened(users: readonly User[], secrets: UserSecrets, logger: Pick<Logger, 'error'>): void {
  const unopened = users.filter(({ user_id, password, totp }) =>
    (
      [
        ['password', password],
        ['totp', totp],
      ] as const
    ).some(([field, sealed]) => sealed !== null && secrets.open(user_id, field, sealed) === null),
  );
  if (unopened.length === 0) return;
  logger.error(
    { users: unopened.length },
    'users cannot sign in: a key that sealed their secrets is not in SECRETS_KEYS',
  );
}

/** Records in the audit who signed in and who was refused, beside the answer: nobody waits for it. */
interface SignInAudit {
  signedIn(userId: string, from: { network: string; browser: string }): void;
  /** @param userId Null where there is no such user: what was typed may be a password. */
  signInRefused(userId: string | null, reason: string, network: string): void;
  /** The password was right, and the code of the second factor is asked for: who goes no further may have stolen it. */
  codeAsked(userId: string, network: string): void;
  /** Somebody known asked for what they may not. */
  permissionRefused(principal: Principal, operation: string, about: string): void;
  /** Somebody opened a shared link, who is not known; `times`: how often it was opened by now. */
  shareOpened(link: ShareLink, times: number): void;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
interface Budget {
  /** Of the same kind one in so long. */
  sameMs: number;
  perHour: number;
}
type Noted = { actor: string; accountId: string | null };
/** Of one account. The audit keeps 2,000 of them: refusals, which anybody can cause, must not displace the others within a day. */
const SIGN_INS: Budget = { sameMs: MINUTE_MS, perHour: 60 };
/** Of one user: whoever can sign in can do so again and again. */
const SIGNED_IN: Budget = { sameMs: 0, perHour: 60 };
/** Of one user, and apart from what anybody can cause: it may be all that is seen of a password that was stolen. */
const CODES_ASKED: Budget = { sameMs: MINUTE_MS, perHour: 30 };
/** What somebody known may not must not displace the tries to break in. */
const PERMISSIONS: Budget = { sameMs: HOUR_MS, perHour: 30 };
/** Of the links of an account; how often each was opened is with the link. */
const SHARES: Budget = { sameMs: 24 * HOUR_MS, perHour: 10 };
const KINDS_MAX = 1_000;

export function createSignInAudit(journal: SettingsJournal, logger: Logger, nowMs: () => number): SignInAudit {
  const [signIns, permissions] = [boundOfEach(SIGN_INS, nowMs), boundOfEach(PERMISSIONS, nowMs)];
  const [signedIn, codesAsked] = [boundOfEach(SIGNED_IN, nowMs), boundOfEach(CODES_ASKED, nowMs)];
  const shares = boundOfEach(SHARES, nowMs);
  const record = (about: string, what: Record<string, unknown>, who: Noted): void => {
    const write = (): Promise<null> =>
      journal.change((view) => ({
        records: [notedRecord(view, about, what, who, nowMs(), 'access')],
        result: null,
      }));
    // Another control service may have written in between, which one try finds out.
    write()
      .catch((error: unknown) => (error instanceof JournalError ? write() : Promise.reject(error)))
      .catch((error: unknown) =>
        logger.error({ err: error, about, actor: who.actor }, 'audit entry could not be written'),
      );
  };
  const recordDue = (isDue: Bound, about: string, what: Record<string, unknown>, who: Noted): void => {
    const unrecorded = isDue(JSON.stringify([about, what, who.actor]));
    if (unrecorded !== null) record(about, { ...what, ...(unrecorded > 0 ? { unrecorded } : {}) }, who);
  };
  /** Of a user, whoever acts: in the ring of the user's account. */
  const ofUser = (userId: string, actor: string): Noted => ({
    actor,
    accountId: accountOfFact(userKey(userId), null, journal.view().table),
  });
  return {
    signedIn(userId, from) {
      recordDue(signedIn(userId), userKey(userId), { done: 'user.sign_in', ...from }, ofUser(userId, actorOf(userId)));
    },
    signInRefused(userId, reason, network) {
      const about = userId === null ? 'user' : userKey(userId);
      logger.warn({ about, reason, network }, 'a sign-in was refused');
      const who = userId === null ? { actor: ANONYMOUS, accountId: null } : ofUser(userId, ANONYMOUS);
      recordDue(signIns(who.accountId), about, { done: 'user.sign_in_refused', reason }, who);
    },
    codeAsked(userId, network) {
      const about = userKey(userId);
      logger.info({ about, network }, 'password accepted, second factor requested');
      recordDue(codesAsked(userId), about, { done: 'user.code_asked', network }, ofUser(userId, ANONYMOUS));
    },
    permissionRefused({ actor, grants }, operation, about) {
      const who = { actor, accountId: accountOfGrants(grants, journal.view().table) };
      recordDue(permissions(who.accountId), about, { done: 'permission.refused', operation }, who);
    },
    shareOpened({ site_id, link_id }, times) {
      const about = shareKey(site_id, link_id);
      const who = { actor: ANONYMOUS, accountId: accountOfFact(about, null, journal.view().table) };
      if (shares(who.accountId)(about) !== null) record(about, { done: 'share.opened', times }, who);
    },
  };
}

type Bound = (kind: string) => number | null;

/** A bound for each user or account that there is. */
function boundOfEach(budget: Budget, nowMs: () => number): (of: string | null) => Bound {
  const bounds = new Map<string | null, Bound>();
  return (of) => {
    const bound = bounds.get(of) ?? createBound(budget, nowMs);
    bounds.set(of, bound);
    return bound;
  };
}

/** Says whether something is recorded: how many were not since the last record; null where this one is not either. */
function createBound({ sameMs, perHour }: Budget, nowMs: () => number): Bound {
  const kinds = new Map<string, { recordedMs: number }>();
  let hour = { startedMs: Number.NEGATIVE_INFINITY, recorded: 0 };
  let unrecorded = 0;
  return (kind) => {
    const now = nowMs();
    if (now - hour.startedMs >= HOUR_MS) hour = { startedMs: now, recorded: 0 };
    const last = kinds.get(kind)?.recordedMs ?? Number.NEGATIVE_INFINITY;
    if (now - last < sameMs || hour.recorded >= perHour) {
      unrecorded += 1;
      return null;
    }
    if (kinds.size >= KINDS_MAX) kinds.clear();
    kinds.set(kind, { recordedMs: now });
    hour.recorded += 1;
    const since = unrecorded;
    unrecorded = 0;
    return since;
  };
}
