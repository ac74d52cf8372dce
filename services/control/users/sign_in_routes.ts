// Routes by which people sign in and out, by password or at a provider of OpenID Connect.

import { SESSION_IDLE_MS, SESSION_MS_MAX, type Session } from '#infra/redis/sessions.ts';
import { type Principal, permissionsOf, type Role } from '#pipelines/settings/access.ts';
import { lacksSecondFactor, linkedSubjects } from '#pipelines/settings/dashboard_users.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { User } from '#schemas/setting.ts';
import { closed } from '#services/control_api/fields.ts';
import * as api from '#services/control_api/users.ts';
import { principalOfUser } from '../auth.ts';
import type { ControlErrorCode } from '../errors.ts';
import { type KnownAsked, refused, resource, route, type SessionAnswer } from '../route.ts';
import { beginAtProvider, type ProviderReturn, provenLink, signInByProvider } from './oidc.ts';
import { asUser, changeAndRenewSession, isRecentlyAuthenticated, proven, withReauthentication } from './own_session.ts';
import { type CachedSessionStore, signIn } from './sign_in.ts';

const sessionPath = '/v1/session';

/** How people sign in and out, and learn what they may. */
export const sessionRoutes = resource('Session', [
  route('POST', sessionPath, 'signIn', {
    access: 'open',
    summary: 'Sign in: the answer sets a cookie, which later requests carry',
    body: api.newSession,
    success: { status: 200, schema: api.whoShape, description: 'Who has signed in' },
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
    async signingIn({ body: { user_id: userId, password, code = null } }, { parts, network, browser, cookie }) {
      const result = await signIn(parts, { userId, password, code, network, browser });
      if (!result.ok) return { ...refused(result.code), waitMs: result.waitMs ?? null };
      await endReplaced(parts.sessions, cookie);
      const who = whoOf(principalOfUser(result.user), result.session, result.user, parts.secondFactorRoles);
      return { kind: 'answered', body: who, cookie: result.value };
    },
  }),
  route('GET', sessionPath, 'getSession', {
    access: 'known',
    summary: 'Who asks, and what they may where',
    success: { status: 200, schema: api.whoShape, description: 'Who asks' },
    async inSession(_input, { parts, caller: { principal, session } }) {
      const user = session === null ? undefined : parts.journal.view().table.user(session.userId);
      return { kind: 'answered', body: whoOf(principal, session, user, parts.secondFactorRoles) };
    },
  }),
  route('DELETE', sessionPath, 'signOut', {
    access: 'known',
    summary: 'Sign out: the session ends, and its cookie is removed',
    success: { status: 200, schema: closed({}), description: 'It is over' },
    errors: ['session_needed'],
    async inSession(_input, { parts, caller: { session } }) {
      if (session === null) return refused('session_needed');
      await parts.sessions.end(session.userId, session.id);
      return { kind: 'answered', body: {}, cookie: null };
    },
  }),
]);

/** A session that the same browser had ends with the new one. */
async function endReplaced(sessions: CachedSessionStore, cookie: string | null): Promise<void> {
  const before = cookie === null ? null : await sessions.find(cookie);
  if (before !== null) await sessions.end(before.userId, before.id);
}

function whoOf(
  { kind, id, name, grants }: Principal,
  session: Session | null,
  user: User | undefined,
  secondFactorRoles: readonly Role[],
): api.Who {
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

function shownSession({ id, createdMs, seenMs }: Session): NonNullable<api.Who['session']> {
  const endsMs = createdMs + SESSION_MS_MAX;
  return {
    id,
    created_at: createdMs,
    ends_at: endsMs,
    idle_ends_at: Math.min(seenMs + SESSION_IDLE_MS, endsMs),
  };
}
const oidcPath = '/v1/session/oidc';
const BEGINNING_ERRORS = ['provider_unknown', 'oidc_unavailable', 'sign_in_limited', 'sessions_unavailable'] as const;
const ENDING_ERRORS = [
  ...(['oidc_flow_over', 'oidc_denied', 'oidc_refused', 'oidc_unavailable', 'oidc_linked_elsewhere'] as const),
  ...(['limit_reached', 'sessions_unavailable', 'settings_not_stored'] as const),
];

/** How people sign in at providers of OpenID Connect, and link their accounts there. */
export const oidcRoutes = resource('Session', [
  route('GET', oidcPath, 'listProviders', {
    access: 'open',
    summary: 'The providers at which people sign in',
    success: { status: 200, schema: api.providersShape, description: 'Providers, in the order of the configuration' },
    async signingIn(_input, { parts }) {
      const body: api.Providers = { items: parts.oidc.providers.map(({ id, label }) => ({ id, label })) };
      return { kind: 'answered', body };
    },
  }),
  route('POST', `${oidcPath}/start`, 'startAtProvider', {
    access: 'open',
    summary: 'Begin a sign-in at a provider: the answer says where the browser goes, and sets a cookie for its return',
    body: api.providerStart,
    success: { status: 200, schema: api.startedShape, description: 'Where the browser goes' },
    errors: ['csrf_missing', ...BEGINNING_ERRORS],
    async signingIn({ body: { provider, invitation = null, proof: isProof = false } }, asked) {
      return providerStarted(await beginAtProvider(asked, provider, { kind: 'sign_in', invitation, isProof }));
    },
  }),
  route('POST', `${oidcPath}/finish`, 'finishAtProvider', {
    access: 'open',
    summary: 'Sign in by what a provider sent the browser back with; the answer sets the cookie of the session',
    body: api.providerFinish,
    success: { status: 200, schema: api.whoShape, description: 'Who has signed in' },
    errors: ['csrf_missing', 'oidc_not_linked', 'oidc_not_proven', 'invitation_over', ...ENDING_ERRORS],
    async signingIn({ body }, asked) {
      const result = await signInByProvider(asked, body);
      if (!result.ok) return { ...refused(result.code), waitMs: result.waitMs ?? null, flow: null };
      await endReplaced(asked.parts.sessions, asked.cookie);
      const who = whoOf(principalOfUser(result.user), result.session, result.user, asked.parts.secondFactorRoles);
      return { kind: 'answered', body: who, cookie: result.value, flow: null };
    },
  }),
  route('POST', `${oidcPath}/link/start`, 'startLink', {
    access: 'known',
    summary: 'Begin to link your account at a provider, by what you sign in with here where you have a password',
    body: api.linkStart,
    success: { status: 200, schema: api.startedShape, description: 'Where the browser goes' },
    errors: [...new Set([...withReauthentication, ...BEGINNING_ERRORS, 'proof_needed' as const])],
    inSession: ({ body: { provider, password = '', code } }, asked) =>
      asUser(asked, async ({ user_id: userId, password: sealed }, session) => {
        const begin = async () => providerStarted(await beginAtProvider(asked, provider, { kind: 'link', userId }));
        if (sealed !== null) return proven(asked, { password, code }, begin);
        return (await isRecentlyAuthenticated(asked.parts, session)) ? begin() : refused('proof_needed');
      }),
  }),
  route('POST', `${oidcPath}/link/finish`, 'finishLink', {
    access: 'known',
    summary: 'Link your account at a provider; your other sessions end, and this one gets a new cookie',
    body: api.providerFinish,
    success: { status: 200, schema: closed({}), description: 'It is linked' },
    errors: ['session_needed', ...ENDING_ERRORS],
    inSession: ({ body }, asked) => asUser(asked, (_user, session) => providerFinished(asked, session, body)),
  }),
  route('POST', `${oidcPath}/unlink`, 'unlinkProviders', {
    access: 'known',
    summary: 'Sign in at no provider any more; your other sessions end, and this one gets a new cookie',
    body: api.unlinking,
    success: { status: 200, schema: closed({}), description: 'The password alone signs you in' },
    errors: [...withReauthentication],
    inSession: ({ body }, asked) =>
      proven(asked, body, (_user, session) => changeAndRenewSession(asked, session, () => ({ oidc_subjects: [] }), {})),
  }),
]);

function providerStarted(result: Awaited<ReturnType<typeof beginAtProvider>>): SessionAnswer {
  if (!result.ok) return { ...refused(result.code), waitMs: result.waitMs ?? null };
  const body: api.Started = { url: result.url };
  return { kind: 'answered', body, flow: result.flow };
}

async function providerFinished(asked: KnownAsked, session: Session, returned: ProviderReturn): Promise<SessionAnswer> {
  const link = await provenLink(asked, session.userId, returned);
  if (!link.ok) return { ...refused(link.code), flow: null };
  const linked = (user: User, table: SettingsTable): Partial<User> | ControlErrorCode => {
    const linking = linkedSubjects(table, user, link.subject);
    return linking.ok ? { oidc_subjects: linking.subjects } : linking.code;
  };
  return { ...(await changeAndRenewSession(asked, session, linked, {})), flow: null };
}
