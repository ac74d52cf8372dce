import { afterEach, beforeEach, expect, test } from 'vitest';
import { createProviderClient, type OidcAnswer, type OidcBinding } from '#infra/oidc/provider_client.ts';
import { CLIENT, type StandinProvider, startProvider } from '#test/harness/standin_provider.ts';

let standin: StandinProvider;
beforeEach(async () => {
  standin = await startProvider();
});
afterEach(() => standin.close());

const BINDING: OidcBinding = {
  redirectUri: 'http://localhost:8090/dashboard/signed-in',
  ...{ state: 'sign_in.s', nonce: 'n'.repeat(43), verifier: 'v'.repeat(43) },
  isAgain: false,
};

const clientOf = (issuer = standin.issuer, clientSecret = CLIENT.secret) =>
  createProviderClient({
    ...{ id: 'acme', label: 'Acme', issuer, clientId: CLIENT.id, clientSecret, isTimeOptional: false },
  });

/** A sign-in from its begin to its end. */
async function signIn(change: Partial<OidcBinding> = {}, client = clientOf()): Promise<OidcAnswer> {
  const url = (await client.begin({ ...BINDING, isAgain: change.isAgain === true })) ?? '';
  const query = await standin.signIn(url, 'ada');
  return client.finish(query, { ...BINDING, ...change });
}

test('who signs in is known by the issuer and the subject, also after the keys were changed', async () => {
  expect(await signIn()).toEqual({ ok: true, issuer: standin.issuer, subject: 'ada', authMs: null });
  const client = clientOf();
  expect(await signIn({}, client)).toMatchObject({ ok: true });
  standin.rotate();
  expect(await signIn({}, client)).toMatchObject({ ok: true });
});

test('a provider that is asked to has them prove who they are, and says when that was', async () => {
  const hourAgoS = standin.signedInS - 3_600;
  standin.signedInS = hourAgoS;
  expect(await signIn()).toMatchObject({ authMs: null });
  standin.wrong.ignoresMaxAge = true;
  expect(await signIn({ isAgain: true })).toMatchObject({ authMs: standin.signedInS * 1000 });
  standin.wrong.ignoresMaxAge = false;
  const answer = await signIn({ isAgain: true });
  expect(standin.signedInS).toBeGreaterThan(hourAgoS);
  expect(answer).toMatchObject({ authMs: standin.signedInS * 1000 });
  expect(new URL((await clientOf().begin(BINDING)) ?? '').searchParams.has('max_age')).toBe(false);
});

const now = Math.floor(Date.now() / 1000);
const wrongs: [what: string, wrong: StandinProvider['wrong']][] = [
  ['another nonce', { claims: { nonce: 'm'.repeat(43) } }],
  ['no nonce', { claims: { nonce: undefined } }],
  ['another issuer', { claims: { iss: 'https://elsewhere.example' } }],
  ['another audience', { claims: { aud: 'another-client' } }],
  ['several audiences, and another that it is for', { claims: { aud: [CLIENT.id, 'x'], azp: 'x' } }],
  ['another client that it is for', { claims: { azp: 'another-client' } }],
  ['a time that is over', { claims: { iat: now - 7_200, exp: now - 3_600 } }],
  ['no number for when it was proven', { claims: { auth_time: 'now' } }],
  ['no subject', { claims: { sub: undefined } }],
  ['an empty subject', { claims: { sub: '' } }],
  ['no signature', { alg: 'none' }],
  [
    'no signature, which the provider says it has',
    { alg: 'none', settings: { id_token_signing_alg_values_supported: ['none'] } },
  ],
  ['an algorithm that the provider does not name', { alg: 'RS256' }],
  ['the signature of a key that is not published', { signsByAnother: true }],
];

test.for(wrongs)('an ID token with %s is refused', async ([, wrong]) => {
  Object.assign(standin.wrong, wrong);
  expect(await signIn()).toMatchObject({ ok: false, code: 'oidc_refused' });
});

test('a state, a verifier and an address that it was not begun with are refused', async () => {
  expect(await signIn({ state: 'sign_in.t' })).toMatchObject({ ok: false, code: 'oidc_refused' });
  expect(await signIn({ nonce: 'm'.repeat(43) })).toMatchObject({ ok: false, code: 'oidc_refused' });
  expect(await signIn({ verifier: 'w'.repeat(43) })).toMatchObject({ ok: false, code: 'oidc_refused' });
  const elsewhere = { redirectUri: 'http://localhost:8090/elsewhere' };
  expect(await signIn(elsewhere)).toMatchObject({ ok: false, code: 'oidc_refused' });
});

test('a code is taken once, and an answer of another issuer never', async () => {
  const client = clientOf();
  const query = await standin.signIn((await client.begin(BINDING)) ?? '', 'ada');
  const mixed = new URLSearchParams(query);
  mixed.set('iss', 'https://elsewhere.example');
  expect(await client.finish(mixed.toString(), BINDING)).toMatchObject({ ok: false, code: 'oidc_refused' });
  expect(await client.finish(query, BINDING)).toMatchObject({ ok: true });
  expect(await client.finish(query, BINDING)).toMatchObject({ ok: false, code: 'oidc_refused' });
});

test('somebody who does not let the provider say who they are is told apart', async () => {
  const denied = new URLSearchParams({ error: 'access_denied', state: BINDING.state, iss: standin.issuer });
  expect(await clientOf().finish(denied.toString(), BINDING)).toMatchObject({ ok: false, code: 'oidc_denied' });
});

test('a provider that is away, broken, or names another issuer is not gone to', async () => {
  expect(await clientOf(`${standin.issuer}/`).begin(BINDING)).toBeNull();
  standin.wrong.settings = { issuer: 'https://elsewhere.example' };
  expect(await clientOf().begin(BINDING)).toBeNull();
  Object.assign(standin.wrong, { settings: {}, isBroken: true });
  expect(await clientOf().begin(BINDING)).toBeNull();
  expect(await clientOf().finish('code=x', BINDING)).toMatchObject({ ok: false, code: 'oidc_unavailable' });
});

test.for(['javascript:alert(1)', 'data:text/html,x', '/authorize', undefined])(
  'nobody is sent to sign in at %s',
  async (address) => {
    standin.wrong.settings = { authorization_endpoint: address };
    expect(await clientOf().begin(BINDING)).toBeNull();
  },
);

const FLOODED_BYTES_MAX = 32 * 1_048_576;

test.for([false, true])('an answer without an end is read as far as answers go, compressed %s', async (compressed) => {
  const client = clientOf();
  const [one, other] = [await client.begin(BINDING), await client.begin(BINDING)];
  const queries = [await standin.signIn(one ?? '', 'ada'), await standin.signIn(other ?? '', 'ada')] as const;
  standin.wrong.floodsCompressed = compressed;
  for (const [path, query] of [
    ['/token', queries[0]],
    ['/jwks', queries[1]],
    ['/.well-known/openid-configuration', 'code=x'],
  ] as const) {
    standin.wrong.floodsAt = path;
    expect(await client.finish(query, BINDING), path).toMatchObject({ ok: false, code: 'oidc_unavailable' });
  }
  expect(await client.begin(BINDING)).toBeNull();
  expect(standin.flooded()).toBeLessThan(FLOODED_BYTES_MAX);
});

test('a provider that takes the secret of the client in the header alone gets it there', async () => {
  standin.wrong.settings = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
  expect(await signIn()).toMatchObject({ ok: true });
});
