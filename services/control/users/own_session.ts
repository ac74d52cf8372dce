// What people do with their own sign-in: prove it again, change the password, TOTP, recovery codes, sessions.
import type { Session } from '#infra/redis/sessions.ts';
import { type PasswordLine, PasswordsBusyError } from '#infra/secrets/password.ts';
import * as members from '#pipelines/settings/dashboard_users.ts';
import { auditedRecords, type Planned } from '#pipelines/settings/journal.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { User } from '#schemas/setting.ts';
import { closed } from '#services/control_api/fields.ts';
import * as api from '#services/control_api/users.ts';
import { commitAs } from '../changes.ts';
import type { ControlErrorCode } from '../errors.ts';
import { type KnownAsked, type Refused, refused, resource, route, type SessionAnswer } from '../route.ts';
import {
  isRight,
  reached,
  recoveryHash,
  SessionsUnavailableError,
  type SignInParts,
  secondFactorRefusal,
  useCode,
} from './sign_in.ts';

const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 10;
const ISSUER = 'Event ingest';
/** How long somebody may take to add a secret to their app. */
const FACTOR_MS = 15 * 60_000;

/** What may come of sending a password again, with a code where the user has a second factor. */
export const withReauthentication = [
  'session_needed',
  'password_refused',
  'second_factor_needed',
  'second_factor_refused',
  'sign_in_limited',
  'sign_in_busy',
  'settings_not_stored',
] as const;

/** What users do with their own sessions, password and second factor. */
export const ownSessionRoutes = resource('Session', [
  route('GET', '/v1/sessions', 'listSessions', {
    access: 'known',
    summary: 'List your sessions',
    success: { status: 200, schema: api.sessionListShape, description: 'Sessions, the newest first' },
    errors: ['session_needed'],
    inSession: (_input, asked) =>
      asUser(asked, async (user, current) => {
        const all = await asked.parts.sessions.list(user.user_id);
        const going = all.filter(({ createdMs }) => createdMs >= user.sessions_from);
        const body: api.SessionList = { items: going.map((session) => sessionItem(session, current)) };
        return { kind: 'answered', body };
      }),
  }),
  route('DELETE', '/v1/sessions/{session_id}', 'endSession', {
    access: 'known',
    summary: 'End one of your sessions',
    params: api.sessionParams,
    success: { status: 200, schema: closed({}), description: 'It is over' },
    errors: ['session_needed', 'session_unknown'],
    inSession: ({ params: { session_id } }, asked) =>
      asUser(asked, async ({ user_id }) => {
        const isEnded = await asked.parts.sessions.end(user_id, session_id);
        return isEnded ? { kind: 'answered', body: {} } : refused('session_unknown');
      }),
  }),
  route('POST', '/v1/session/password', 'changePassword', {
    access: 'known',
    summary: 'Change your password; your other sessions end, and this one gets a new cookie',
    body: api.passwordChange,
    success: { status: 200, schema: closed({}), description: 'It is changed' },
    errors: [...withReauthentication],
    inSession: ({ body: { password, code, new_password } }, asked) =>
      proven(asked, { password, code }, async (user, session) => {
        const sealed = await hashed(asked.parts, user.user_id, new_password, 'known');
        return sealed === null
          ? refused('sign_in_busy')
          : changeAndRenewSession(
              asked,
              session,
              (now) => (now.password === user.password ? { password: sealed } : 'session_over'),
              {},
            );
      }),
  }),
  route('POST', '/v1/session/totp/begin', 'beginSecondFactor', {
    access: 'known',
    summary:
      'Make a secret for a second factor; nothing is changed until a code of it is sent, in a quarter of an hour',
    body: closed({}),
    success: { status: 200, schema: api.newTotpShape, description: 'The secret, for an authenticator app' },
    errors: ['session_needed', 'second_factor_exists'],
    inSession: (_input, asked) =>
      asUser(asked, async ({ user_id, totp }, { id }) => {
        if (totp !== null) return refused('second_factor_exists');
        const { sessions, userSecrets, randomBytes } = asked.parts;
        const secret = members.newTotpSecret(randomBytes);
        // Held here: a secret that came back from a browser could be one that somebody else chose. Sealed, as Redis shows all.
        await sessions.holdFactor(id, userSecrets.seal(user_id, 'totp', secret), FACTOR_MS);
        return { kind: 'answered', body: { secret, uri: members.totpUri(secret, ISSUER, user_id) } };
      }),
  }),
  route('POST', '/v1/session/totp/confirm', 'confirmSecondFactor', {
    access: 'known',
    summary: 'Ask for a code at each sign-in from now on; your other sessions end, and this one gets a new cookie',
    body: api.totpConfirmation,
    success: { status: 200, schema: api.recoveryCodesShape, description: 'Codes for when the app is lost' },
    errors: [...withReauthentication, 'second_factor_exists', 'second_factor_not_begun'],
    inSession: ({ body: { code, password } }, asked) =>
      asUser(asked, async ({ totp: had }) => {
        if (had !== null) return refused('second_factor_exists');
        return proven(asked, { password }, (user, session) => confirmed(asked, user, session, code));
      }),
  }),
  route('POST', '/v1/session/totp/remove', 'removeSecondFactor', {
    access: 'known',
    summary: 'Sign in without a code again',
    body: api.totpRemoval,
    success: { status: 200, schema: closed({}), description: 'It is removed' },
    errors: [...withReauthentication, 'second_factor_required'],
    inSession: ({ body }, asked) =>
      proven(asked, body, async (user, session) => {
        if (user.totp === null) return refused('second_factor_refused');
        const { secondFactorRoles } = asked.parts;
        if (members.lacksSecondFactor({ ...user, totp: null }, secondFactorRoles))
          return refused('second_factor_required');
        return changeAndRenewSession(asked, session, () => ({ totp: null, recovery_codes: [] }), {});
      }),
  }),
]);

async function confirmed(asked: KnownAsked, user: User, session: Session, code: string): Promise<SessionAnswer> {
  const { parts, network } = asked;
  const totp = await parts.sessions.heldFactor(session.id);
  if (totp === null) return refused('second_factor_not_begun');
  if (!(await useCode(parts, { ...user, totp }, code))) {
    parts.signInAudit.signInRefused(user.user_id, 'code', network);
    return refused('second_factor_refused');
  }
  const codes = Array.from({ length: RECOVERY_CODES }, () => recoveryCode(parts));
  const recovery_codes = codes.map(recoveryHash);
  const change = (now: User) => (now.totp === null ? { totp, recovery_codes } : ('second_factor_exists' as const));
  return changeAndRenewSession(asked, session, change, { recovery_codes: codes });
}

/**
 * Changes how a user signs in: every session ends, and the one that asked goes on as a new one, unless it ended meanwhile. It
 * stays proven for as long as it was: a change proves nothing.
 *
 * @param change what becomes of the user as they are then, or why nothing does.
 */
export async function changeAndRenewSession(
  { parts, judge, network, browser }: KnownAsked,
  { userId, createdMs, provenMs }: Session,
  change: (user: User, table: SettingsTable) => Partial<User> | ControlErrorCode,
  body: object,
): Promise<SessionAnswer> {
  const { journal, nowMs, sessions } = parts;
  const refusal = await commitAs<Refused | null>(parts, judge, (view, principal) => {
    const user = view.table.user(userId);
    if (!members.isSessionValid(user, createdMs)) return notChanged('session_over');
    const changed = change(user, view.table);
    if (typeof changed === 'string') return notChanged(changed);
    const facts = [{ body: { user: { ...user, ...changed, sessions_from: members.sessionsEndedAt(user, nowMs()) } } }];
    return { records: auditedRecords(view, facts, principal.actor, nowMs()), result: null, protects: true };
  });
  if (refusal !== null) return refusal;
  const { sessions_from = 0 } = journal.view().table.user(userId) ?? {};
  try {
    const { value } = await sessions.begin({ userId, network, browser, provenMs }, sessions_from);
    return { kind: 'answered', body, cookie: value };
  } catch (error) {
    // It is changed: whoever asked must learn so, and get codes that are shown this once. They sign in again.
    if (error instanceof SessionsUnavailableError) return { kind: 'answered', body };
    throw error;
  }
}

const notChanged = (code: ControlErrorCode): Planned<Refused> => ({ records: [], result: refused(code) });

/** The sealed hash of a password; null where too many are being hashed. */
export async function hashed(
  { passwords, userSecrets }: Pick<SignInParts, 'passwords' | 'userSecrets'>,
  userId: string,
  password: string,
  line: PasswordLine,
): Promise<string | null> {
  try {
    return userSecrets.seal(userId, 'password', await passwords.hash(password, line));
  } catch (error) {
    if (error instanceof PasswordsBusyError) return null;
    throw error;
  }
}

/** Sixteen letters and digits in fours: 80 bits. */
function recoveryCode({ randomBytes }: Pick<SignInParts, 'randomBytes'>): string {
  return (members.base32(randomBytes(RECOVERY_BYTES)).toLowerCase().match(/.{4}/g) ?? []).join('-');
}

export function sessionItem(session: Session, current: Session | null): api.SessionList['items'][number] {
  const { id, createdMs, seenMs, network, browser } = session;
  return { id, created_at: createdMs, seen_at: seenMs, network, browser, current: id === current?.id };
}

/**
 * For how long whoever has proven who they are may do what takes that: a session that somebody finds open is seldom so
 * young.
 */
const PROOF_MS = 15 * 60_000;

/** Proves that whoever is in a session is its user. */
export const proofRoutes = resource('Session', [
  route('POST', '/v1/session/proof', 'proveSession', {
    access: 'known',
    summary:
      'Send your password again, with a code where you have a second factor: for a quarter of an hour this session may do what takes a proof',
    body: api.sessionProof,
    success: { status: 200, schema: closed({}), description: 'It is proven' },
    errors: [...withReauthentication.filter((code) => code !== 'settings_not_stored')],
    inSession: ({ body }, asked) =>
      proven(asked, body, async (_user, { id }) => {
        await asked.parts.sessions.prove(id, PROOF_MS);
        return { kind: 'answered', body: {} };
      }),
  }),
]);

/** Whether it was proven lately who is in a session, as it began or by the password. @throws SessionsUnavailableError */
export async function isRecentlyAuthenticated(
  { sessions, nowMs }: Pick<SignInParts, 'sessions' | 'nowMs'>,
  { id, provenMs }: Session,
): Promise<boolean> {
  return (provenMs !== null && nowMs() - provenMs <= PROOF_MS) || sessions.isRecentlyAuthenticated(id);
}

/** For a user in a session, and for no token. */
export async function asUser(
  { parts, caller: { session } }: KnownAsked,
  then: (user: User, session: Session) => Promise<SessionAnswer>,
): Promise<SessionAnswer> {
  const user = session === null ? undefined : parts.journal.view().table.user(session.userId);
  return session === null || user === undefined ? refused('session_needed') : then(user, session);
}

/**
 * The same for a user who has sent with the request what signs them in, as a session may be somebody else's who found it open, or
 * who has the password alone. The session that goes on is one that was proven now.
 */
export function proven(
  asked: KnownAsked,
  { password, code }: { password: string; code?: string | undefined },
  then: (user: User, session: Session) => Promise<SessionAnswer>,
): Promise<SessionAnswer> {
  const { parts, network } = asked;
  return asUser(asked, async (user, session) => {
    const waitMs = await reached(parts.limits.tryPassword(user.user_id, network));
    if (waitMs > 0) {
      parts.signInAudit.signInRefused(user.user_id, 'limited', network);
      return { ...refused('sign_in_limited'), waitMs };
    }
    const isTheirs = await isRight(parts, user, password, 'known');
    if (isTheirs === 'busy') return refused('sign_in_busy');
    if (!isTheirs) {
      parts.signInAudit.signInRefused(user.user_id, 'password_again', network);
      return refused('password_refused');
    }
    const refusal = await secondFactorRefusal(parts, user, { code: code ?? null, network });
    if (refusal !== null) return { ...refused(refusal.code), waitMs: refusal.waitMs ?? null };
    return then(user, { ...session, provenMs: parts.nowMs() });
  });
}
