import type { Static } from 'typebox';
import type { Session } from '#infra/redis/sessions.ts';
import { linkedSubjects } from '#pipelines/settings/oidc_links.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { User } from '#schemas/setting.ts';
import { closed, nothing } from '#services/control_api/fields.ts';
import {
  linkStart,
  type Providers,
  providerFinish,
  providerStart,
  providersShape,
  type Started,
  startedShape,
  unlinking,
} from '#services/control_api/oidc_shapes.ts';
import { whoShape } from '#services/control_api/session_shapes.ts';
import { principalOfUser } from './authenticate.ts';
import type { ControlErrorCode } from './errors.ts';
import { beginAtProvider, type ProviderReturn, provenLink, signInByProvider } from './oidc_sign_in.ts';
import { anew } from './own_session.ts';
import { type Route, refused, route, sessionRoute } from './route.ts';
import type { KnownAsked, SessionAnswer } from './session_answer.ts';
import { asUser, isProven, proven, proving } from './session_proof.ts';
import { endReplaced, whoOf } from './session_routes.ts';

const tag = 'Session';
const path = '/v1/session/oidc';
const beginning = ['provider_unknown', 'oidc_unavailable', 'sign_in_limited', 'sessions_unavailable'] as const;
const ending = [
  ...(['oidc_flow_over', 'oidc_denied', 'oidc_refused', 'oidc_unavailable', 'oidc_linked_elsewhere'] as const),
  ...(['limit_reached', 'sessions_unavailable', 'settings_not_stored'] as const),
];

const openSpec = { access: 'open', tag, params: nothing, query: nothing, ifMatch: 'none' } as const;
const unused = () => refused('not_found');

/** How people sign in at providers of OpenID Connect, and link their accounts there. */
export const oidcRoutes: Route[] = [
  {
    ...route({
      ...openSpec,
      method: 'GET',
      path,
      operationId: 'listProviders',
      summary: 'The providers at which people sign in',
      body: null,
      success: { status: 200, schema: providersShape, description: 'Providers, in the order of the configuration' },
      errors: [],
      run: unused,
    }),
    async inSession(_input, { parts }): Promise<SessionAnswer> {
      const body: Providers = { items: parts.oidc.providers.map(({ id, label }) => ({ id, label })) };
      return { kind: 'answered', body };
    },
  },
  {
    ...route({
      ...openSpec,
      method: 'POST',
      path: `${path}/start`,
      operationId: 'startAtProvider',
      summary:
        'Begin a sign-in at a provider: the answer says where the browser goes, and sets a cookie for its return',
      body: providerStart,
      success: { status: 200, schema: startedShape, description: 'Where the browser goes' },
      errors: ['csrf_missing', ...beginning],
      run: unused,
    }),
    async inSession({ body }, asked): Promise<SessionAnswer> {
      const { provider, invitation = null, proof: isProof = false } = body as Static<typeof providerStart>;
      return started(await beginAtProvider(asked, provider, { kind: 'sign_in', invitation, isProof }));
    },
  },
  {
    ...route({
      ...openSpec,
      method: 'POST',
      path: `${path}/finish`,
      operationId: 'finishAtProvider',
      summary: 'Sign in by what a provider sent the browser back with; the answer sets the cookie of the session',
      body: providerFinish,
      success: { status: 200, schema: whoShape, description: 'Who has signed in' },
      errors: ['csrf_missing', 'oidc_not_linked', 'oidc_not_proven', 'invitation_over', ...ending],
      run: unused,
    }),
    async inSession({ body }, asked): Promise<SessionAnswer> {
      const result = await signInByProvider(asked, body as Static<typeof providerFinish>);
      if (!result.ok) return { ...refused(result.code), waitMs: result.waitMs ?? null, flow: null };
      await endReplaced(asked.parts.sessions, asked.cookie);
      const who = whoOf(principalOfUser(result.user), result.session, result.user, asked.parts.secondFactorRoles);
      return { kind: 'answered', body: who, cookie: result.value, flow: null };
    },
  },
  sessionRoute({
    method: 'POST',
    path: `${path}/link/start`,
    operationId: 'startLink',
    access: 'known',
    tag,
    summary: 'Begin to link your account at a provider, by what you sign in with here where you have a password',
    params: nothing,
    query: nothing,
    body: linkStart,
    ifMatch: 'none',
    success: { status: 200, schema: startedShape, description: 'Where the browser goes' },
    errors: [...new Set([...proving, ...beginning, 'proof_needed' as const])],
    answer: ({ body: { provider, password = '', code } }, asked) =>
      asUser(asked, async ({ user_id: userId, password: sealed }, session) => {
        const begin = async () => started(await beginAtProvider(asked, provider, { kind: 'link', userId }));
        if (sealed !== null) return proven(asked, { password, code }, begin);
        return (await isProven(asked.parts, session)) ? begin() : refused('proof_needed');
      }),
  }),
  sessionRoute({
    method: 'POST',
    path: `${path}/link/finish`,
    operationId: 'finishLink',
    access: 'known',
    tag,
    summary: 'Link your account at a provider; your other sessions end, and this one gets a new cookie',
    params: nothing,
    query: nothing,
    body: providerFinish,
    ifMatch: 'none',
    success: { status: 200, schema: closed({}), description: 'It is linked' },
    errors: ['session_needed', ...ending],
    answer: ({ body }, asked) => asUser(asked, (_user, session) => finished(asked, session, body)),
  }),
  sessionRoute({
    method: 'POST',
    path: `${path}/unlink`,
    operationId: 'unlinkProviders',
    access: 'known',
    tag,
    summary: 'Sign in at no provider any more; your other sessions end, and this one gets a new cookie',
    params: nothing,
    query: nothing,
    body: unlinking,
    ifMatch: 'none',
    success: { status: 200, schema: closed({}), description: 'The password alone signs you in' },
    errors: [...proving],
    answer: ({ body }, asked) =>
      proven(asked, body, (_user, session) => anew(asked, session, () => ({ oidc_subjects: [] }), {})),
  }),
];

function started(result: Awaited<ReturnType<typeof beginAtProvider>>): SessionAnswer {
  if (!result.ok) return { ...refused(result.code), waitMs: result.waitMs ?? null };
  const body: Started = { url: result.url };
  return { kind: 'answered', body, flow: result.flow };
}

async function finished(asked: KnownAsked, session: Session, returned: ProviderReturn): Promise<SessionAnswer> {
  const link = await provenLink(asked, session.userId, returned);
  if (!link.ok) return { ...refused(link.code), flow: null };
  const linked = (user: User, table: SettingsTable): Partial<User> | ControlErrorCode => {
    const linking = linkedSubjects(table, user, link.subject);
    return linking.ok ? { oidc_subjects: linking.subjects } : linking.code;
  };
  return { ...(await anew(asked, session, linked, {})), flow: null };
}
