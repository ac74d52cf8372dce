import { hash } from 'node:crypto';
import type { ProviderClient } from '#infra/oidc/provider_client.ts';
import type { OneTimeNotes } from '#infra/redis/one_time_notes.ts';
import type { Session } from '#infra/redis/sessions.ts';
import type { SignInLimits } from '#infra/redis/sign_in_limits.ts';
import { type PasswordLine, type Passwords, PasswordsBusyError } from '#infra/secrets/password.ts';
import type { Role } from '#pipelines/settings/access.ts';
import { actorOf } from '#pipelines/settings/dashboard_users.ts';
import { auditedRecords, type SettingsJournal } from '#pipelines/settings/journal.ts';
import type { RandomBytes } from '#pipelines/settings/random_text.ts';
import { isTotpCode, totpStep } from '#pipelines/settings/totp.ts';
import type { User } from '#schemas/setting.ts';
import type { ControlErrorCode } from './errors.ts';
import { reached, type SessionKeeper } from './session_keeper.ts';
import type { SignInAudit } from './sign_in_audit.ts';

/** Seals what a user signs in with, each for its own user and field. */
export interface UserSecrets {
  seal(userId: string, field: 'password' | 'totp', value: string): string;
  /** Null where it cannot be opened. */
  open(userId: string, field: 'password' | 'totp', sealed: string): string | null;
}

export interface SignInParts {
  journal: SettingsJournal;
  sessions: SessionKeeper;
  limits: SignInLimits;
  passwords: Passwords;
  userSecrets: UserSecrets;
  signInAudit: SignInAudit;
  /** Sign-ins at providers. */
  oidc: { providers: readonly ProviderClient[]; notes: OneTimeNotes };
  /** Of whoever has one of them and a password, a second factor is required. */
  secondFactorRoles: readonly Role[];
  randomBytes: RandomBytes;
  nowMs(): number;
}

/** What is sent to sign in, and where from. */
export interface SignInTry {
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
