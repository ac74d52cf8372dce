import type { Session } from '#infra/redis/sessions.ts';
import type { User } from '#schemas/setting.ts';
import { closed, nothing } from '#services/control_api/fields.ts';
import { sessionProof } from '#services/control_api/user_shapes.ts';
import { type Route, refused, sessionRoute } from './route.ts';
import type { KnownAsked, SessionAnswer } from './session_answer.ts';
import { reached } from './session_keeper.ts';
import { isRight, type SignInParts, secondFactorRefusal } from './sign_in.ts';

/**
 * For how long whoever has proven who they are may do what takes that: a session that somebody finds open is seldom so
 * young.
 */
const PROOF_MS = 15 * 60_000;

/** What may come of sending a password again, with a code where the user has a second factor. */
export const proving = [
  'session_needed',
  'password_refused',
  'second_factor_needed',
  'second_factor_refused',
  'sign_in_limited',
  'sign_in_busy',
  'settings_not_stored',
] as const;

/** Proves that whoever is in a session is its user. */
export const proofRoute: Route = sessionRoute({
  method: 'POST',
  path: '/v1/session/proof',
  operationId: 'proveSession',
  access: 'known',
  tag: 'Session',
  summary:
    'Send your password again, with a code where you have a second factor: for a quarter of an hour this session may do what takes a proof',
  params: nothing,
  query: nothing,
  body: sessionProof,
  ifMatch: 'none',
  success: { status: 200, schema: closed({}), description: 'It is proven' },
  errors: [...proving.filter((code) => code !== 'settings_not_stored')],
  answer: ({ body }, asked) =>
    proven(asked, body, async (_user, { id }) => {
      await asked.parts.sessions.prove(id, PROOF_MS);
      return { kind: 'answered', body: {} };
    }),
});

/** Whether it was proven lately who is in a session, as it began or by the password. @throws SessionsUnavailableError */
export async function isProven(
  { sessions, nowMs }: Pick<SignInParts, 'sessions' | 'nowMs'>,
  { id, provenMs }: Session,
): Promise<boolean> {
  return (provenMs !== null && nowMs() - provenMs <= PROOF_MS) || sessions.isProven(id);
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
