import type { Static } from 'typebox';
import { SESSION_IDLE_MS, SESSION_MS_MAX, type Session } from '#infra/redis/sessions.ts';
import { type Principal, permissionsOf, type Role } from '#pipelines/settings/access.ts';
import { lacksSecondFactor } from '#pipelines/settings/dashboard_users.ts';
import type { User } from '#schemas/setting.ts';
import { closed, nothing } from '#services/control_api/fields.ts';
import { newSession, type Who, whoShape } from '#services/control_api/session_shapes.ts';
import { principalOfUser } from './authenticate.ts';
import { type Route, refused, route, sessionRoute } from './route.ts';
import type { SessionAnswer } from './session_answer.ts';
import type { SessionKeeper } from './session_keeper.ts';
import { signIn } from './sign_in.ts';

const tag = 'Session';
const path = '/v1/session';

type SignInBody = Static<typeof newSession>;

const signInRoute: Route = {
  ...route({
    method: 'POST',
    path,
    operationId: 'signIn',
    access: 'open',
    tag,
    summary: 'Sign in: the answer sets a cookie, which later requests carry',
    params: nothing,
    query: nothing,
    body: newSession,
    ifMatch: 'none',
    success: { status: 200, schema: whoShape, description: 'Who has signed in' },
    errors: [
      'csrf_missing',
      'sign_in_refused',
      'second_factor_needed',
      'second_factor_refused',
      'sign_in_limited',
      'sign_in_busy',
      'sessions_unavailable',
      'settings_not_stored',
    ],
    run: () => refused('not_found'),
  }),
  async inSession({ body }, { parts, network, browser, cookie }): Promise<SessionAnswer> {
    const { user_id: userId, password, code = null } = body as SignInBody;
    const result = await signIn(parts, { userId, password, code, network, browser });
    if (!result.ok) return { ...refused(result.code), waitMs: result.waitMs ?? null };
    await endReplaced(parts.sessions, cookie);
    const who = whoOf(principalOfUser(result.user), result.session, result.user, parts.secondFactorRoles);
    return { kind: 'answered', body: who, cookie: result.value };
  },
};

/** How people sign in and out, and learn what they may. */
export const sessionRoutes: Route[] = [
  signInRoute,
  sessionRoute({
    method: 'GET',
    path,
    operationId: 'getSession',
    access: 'known',
    tag,
    summary: 'Who asks, and what they may where',
    params: nothing,
    query: nothing,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: whoShape, description: 'Who asks' },
    errors: [],
    async answer(_input, { parts, caller: { principal, session } }) {
      const user = session === null ? undefined : parts.journal.view().table.user(session.userId);
      return { kind: 'answered', body: whoOf(principal, session, user, parts.secondFactorRoles) };
    },
  }),
  sessionRoute({
    method: 'DELETE',
    path,
    operationId: 'signOut',
    access: 'known',
    tag,
    summary: 'Sign out: the session ends, and its cookie is removed',
    params: nothing,
    query: nothing,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: closed({}), description: 'It is over' },
    errors: ['session_needed'],
    async answer(_input, { parts, caller: { session } }) {
      if (session === null) return refused('session_needed');
      await parts.sessions.end(session.userId, session.id);
      return { kind: 'answered', body: {}, cookie: null };
    },
  }),
];

/** A session that the same browser had ends with the new one. */
export async function endReplaced(sessions: SessionKeeper, cookie: string | null): Promise<void> {
  const before = cookie === null ? null : await sessions.find(cookie);
  if (before !== null) await sessions.end(before.userId, before.id);
}

export function whoOf(
  { kind, id, name, grants }: Principal,
  session: Session | null,
  user: User | undefined,
  secondFactorRoles: readonly Role[],
): Who {
  return {
    kind,
    id,
    name,
    grants: grants.map((grant) => ({ ...grant, permissions: [...permissionsOf(grant)] })),
    has_password: user !== undefined && user.password !== null,
    second_factor: user !== undefined && user.totp !== null,
    second_factor_required: user !== undefined && lacksSecondFactor(user, secondFactorRoles),
    provider_links: user?.oidc_subjects.length ?? 0,
    session: session === null ? null : shownSession(session),
  };
}

function shownSession({ id, createdMs, seenMs }: Session): NonNullable<Who['session']> {
  const endsMs = createdMs + SESSION_MS_MAX;
  return {
    id,
    created_at: createdMs,
    ends_at: endsMs,
    idle_ends_at: Math.min(seenMs + SESSION_IDLE_MS, endsMs),
  };
}
