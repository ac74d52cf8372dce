import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Who } from '#services/control_api/users.ts';
import type { OpenControl } from '#test/harness/control_in_process.ts';
import { useInstallation } from '#test/harness/installation.ts';
import { CLIENT, type StandinProvider, startProvider } from '#test/harness/standin_provider.ts';
import { until } from '#test/harness/until.ts';
import { controlEnvironment, openReplica, provisionFollowed } from './control_world.ts';

const HOST = 'localhost:8090';
const OWN = { host: HOST, origin: `http://${HOST}`, 'x-svc-csrf': '1', 'content-type': 'application/json' };
const installation = useInstallation('topics');
let control: OpenControl;
let provider: StandinProvider;

beforeAll(async () => {
  provider = await startProvider();
  const acme = {
    id: 'acme',
    label: 'Acme',
    issuer: provider.issuer,
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
  };
  const env = {
    ...controlEnvironment(installation().addresses),
    CONTROL_OIDC_PROVIDERS: JSON.stringify([acme]),
  };
  await provisionFollowed(env);
  control = await openReplica(env);
});

afterAll(async () => {
  await control.close();
  await provider.close();
});

interface Answered {
  status: number;
  body: Who & { url: string; error?: { code: string } };
  cookies: string[];
}

async function post(path: string, body: object, cookie = ''): Promise<Answered> {
  const headers = { ...OWN, ...(cookie === '' ? {} : { cookie }) };
  const response = await control.app.inject({
    method: 'POST',
    url: `/v1/session/oidc/${path}`,
    headers,
    payload: body,
  });
  const cookies = [response.headers['set-cookie'] ?? []].flat().map((one) => one.split(';')[0] ?? '');
  return { status: response.statusCode, body: response.json(), cookies };
}

async function began(more: object = {}) {
  const { body, cookies } = await post('start', { provider: 'acme', ...more });
  return { query: await provider.signIn(body.url, 'somebody'), flow: cookies[0] ?? '' };
}

const codeOf = async (query: string, flow: string): Promise<string> =>
  (await post('finish', { provider: 'acme', answer: query }, flow)).body.error?.code ?? 'signed in';

it('somebody invited links their account, signs in by it with a session of Redis, once for each begin', async () => {
  const userId = `u${randomBytes(4).toString('hex')}`;
  await control.client.send('POST', '/users', null, { user_id: userId, grants: [{ role: 'viewer' }] });
  const path = `/users/${userId}/invitation`;
  const { invitation } = await control.client.send<{ invitation: string }>('POST', path, null, {});

  const first = await began({ invitation });
  const linked = await post('finish', { provider: 'acme', answer: first.query }, first.flow);
  expect(linked.body).toMatchObject({ kind: 'user', id: userId, provider_links: 1, second_factor: false });
  const session = linked.cookies.find((cookie) => cookie.startsWith('svc_session=')) ?? '';
  const who = await control.app.inject({ url: '/v1/session', headers: { host: HOST, cookie: session } });
  expect(who.json()).toMatchObject({ id: userId });
  expect(await codeOf(first.query, first.flow)).toBe('oidc_flow_over');

  provider.rotate();
  const second = await began();
  expect(await codeOf(second.query, second.flow)).toBe('signed in');
  const [third, fourth] = [await began(), await began()];
  expect(await codeOf(third.query, fourth.flow)).toBe('oidc_refused');
  const fifth = await began();
  provider.wrong.claims = { nonce: 'another' };
  expect(await codeOf(fifth.query, fifth.flow)).toBe('oidc_refused');
  provider.wrong.claims = {};

  await provesAnew(userId);

  // Nobody waits for what is noted of a refusal.
  const text = await until(
    'the refusals are in the audit',
    async () => JSON.stringify(await control.client.get<object>('/audit?limit=1000')),
    (seen) => seen.includes('acme: oidc_refused'),
  );
  expect(text).toContain('user.invite');
  for (const secret of [invitation, 'somebody', CLIENT.secret]) expect(text).not.toContain(secret);
});

/** What takes a proof is done by a sign-in that the provider says was one, and by no other. */
async function provesAnew(userId: string): Promise<void> {
  const owner = { grants: [{ role: 'owner' }] };
  await control.client.send('PATCH', `/users/${userId}`, null, owner);
  const issued = async (more: object): Promise<string | number> => {
    const { query, flow } = await began(more);
    const { body, cookies } = await post('finish', { provider: 'acme', answer: query }, flow);
    if (body.error !== undefined) return body.error.code;
    const cookie = cookies.find((one) => one.startsWith('svc_session=')) ?? '';
    const payload = { label: `by ${userId}`, grants: [{ role: 'viewer' }] };
    const answer = await control.app.inject({
      method: 'POST',
      url: '/v1/admin/tokens',
      headers: { ...OWN, cookie },
      payload,
    });
    return answer.json<{ error?: { code: string } }>().error?.code ?? answer.statusCode;
  };
  provider.signedInS = Math.floor(Date.now() / 1000) - 3_600;
  expect(await issued({})).toBe('proof_needed');
  provider.wrong.ignoresMaxAge = true;
  expect(await issued({ proof: true })).toBe('oidc_not_proven');
  provider.wrong.ignoresMaxAge = false;
  expect(await issued({ proof: true })).toBe(201);
}
