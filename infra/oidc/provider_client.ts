import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
} from 'openid-client';

interface OidcProvider {
  id: string;
  label: string;
  /** The address that it says it has; its settings are below it. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Whether it says of no sign-in when somebody proved who they are. */
  isTimeOptional: boolean;
}

/** What one sign-in at a provider is bound to; none of it is known to anybody else but the provider. */
export interface OidcBinding {
  redirectUri: string;
  state: string;
  nonce: string;
  /** Of PKCE: who has the code and not this gets nothing for it. */
  verifier: string;
  /** Whether it shall have them prove who they are, also where it knows them. */
  isAgain: boolean;
}

/** Who has signed in at a provider, or why that cannot be said. */
export type OidcAnswer =
  | {
      ok: true;
      issuer: string;
      subject: string;
      /** When it had them prove who they are, in milliseconds since 1970 UTC; null: it does not say. */
      authMs: number | null;
    }
  | { ok: false; code: 'oidc_denied' | 'oidc_refused' | 'oidc_unavailable'; detail: string };

export type ProviderClient = ReturnType<typeof createProviderClient>;

const ANSWER_S_MAX = 5;
/** The subject alone is asked for: neither name nor address is wanted. */
const SCOPE = 'openid';
/**
 * Asks for a proof of whoever it is, and for its time in the ID token (OpenID Connect Core, section 3.1.2.1). `prompt=login` asks
 * for no time, and not every provider takes it.
 */
const AGAIN = { max_age: '0' };

/**
 * Signs people in at a provider: authorization code with PKCE, state and nonce. The provider's settings and keys are read
 * anew for each sign-in, so that keys that were changed are known at once. ID tokens are checked by their signature too.
 */
export function createProviderClient(provider: OidcProvider) {
  const { id, label, issuer, clientId, clientSecret, isTimeOptional } = provider;
  const isPlain = new URL(issuer).protocol === 'http:';

  const options = {
    timeout: ANSWER_S_MAX,
    [customFetch]: boundedFetch,
    execute: [enableNonRepudiationChecks, ...(isPlain ? [allowInsecureRequests] : [])],
  };

  async function configured(): Promise<Configuration> {
    const found = await discovery(new URL(issuer), clientId, clientSecret, ClientSecretPost(clientSecret), options);
    const {
      issuer: named,
      authorization_endpoint: signIn,
      token_endpoint_auth_methods_supported: methods,
    } = found.serverMetadata();
    if (named !== issuer) throw new Error('the provider names another issuer');
    if (!isWebAddress(signIn, isPlain)) throw new Error('the provider has no page to sign in at');
    if (methods === undefined || methods.includes('client_secret_post')) return found;
    return discovery(new URL(issuer), clientId, clientSecret, ClientSecretBasic(clientSecret), options);
  }

  /** Or why there is none: it is away, slow, or not what it says it is. */
  async function reachable(): Promise<{ ok: true; config: Configuration } | { ok: false; detail: string }> {
    try {
      return { ok: true, config: await configured() };
    } catch (error) {
      return { ok: false, detail: `discovery ${error instanceof ClientError ? error.code : nameOf(error)}` };
    }
  }

  return {
    id,
    label,
    isTimeOptional,
    /** Where the browser goes; null where the provider does not answer as it should. */
    async begin({ redirectUri, state, nonce, verifier, isAgain }: OidcBinding): Promise<string | null> {
      const found = await reachable();
      if (!found.ok) return null;
      const { config } = found;
      const code_challenge = await calculatePKCECodeChallenge(verifier);
      const asked = { redirect_uri: redirectUri, scope: SCOPE, state, nonce, ...(isAgain && AGAIN) };
      return buildAuthorizationUrl(config, { ...asked, code_challenge, code_challenge_method: 'S256' }).href;
    },
    /** @param query What the provider has sent the browser back with. */
    async finish(query: string, { redirectUri, state, nonce, verifier }: OidcBinding): Promise<OidcAnswer> {
      const found = await reachable();
      if (!found.ok) return { ok: false, code: 'oidc_unavailable', detail: found.detail };
      const { config } = found;
      const url = new URL(redirectUri);
      url.search = query;
      try {
        const tokens = await authorizationCodeGrant(config, url, {
          ...{ pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true },
        });
        const { iss, sub, azp = clientId, auth_time: authS } = tokens.claims() ?? {};
        // The library looks at azp only where there are several audiences, and takes an empty subject.
        if (iss !== issuer || !sub || azp !== clientId) return { ok: false, code: 'oidc_refused', detail: 'claims' };
        return { ok: true, issuer: iss, subject: sub, authMs: authS === undefined ? null : authS * 1000 };
      } catch (error) {
        return failureOf(error);
      }
    },
  };
}

/** Whether a browser may be sent there: `javascript:` and the like are addresses too. */
function isWebAddress(address: string | undefined, isPlain: boolean): boolean {
  const protocol = address === undefined ? undefined : URL.parse(address)?.protocol;
  return protocol === 'https:' || (isPlain && protocol === 'http:');
}

/** What the library says of it by its codes, which hold nothing of what was sent. */
function failureOf(error: unknown): Extract<OidcAnswer, { ok: false }> {
  if (error instanceof AuthorizationResponseError) {
    const isDenied = error.error === 'access_denied';
    return { ok: false, code: isDenied ? 'oidc_denied' : 'oidc_refused', detail: 'authorization_response' };
  }
  const code = error instanceof ClientError ? error.code : undefined;
  const isAway =
    code === 'OAUTH_TIMEOUT' || isTooLarge(error) || (error instanceof TypeError && error.message === 'fetch failed');
  return { ok: false, code: isAway ? 'oidc_unavailable' : 'oidc_refused', detail: code ?? nameOf(error) };
}

/** A provider answers more than any answer needs. */
class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';
}

/** The library may wrap what its fetch throws. */
const isTooLarge = (error: unknown): boolean =>
  error instanceof AnswerTooLargeError || (error instanceof Error && isTooLarge(error.cause));

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'error');

/** What a provider answers at the most: discovery documents and key sets of the large ones have some 20 kB. */
const ANSWER_BYTES_MAX = 262_144;

/**
 * Fetches from a provider, which may be hostile or broken, no more than so much, counted after decompression.
 *
 * @throws AnswerTooLargeError
 */
const boundedFetch: CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit);
  const bytes = await readBounded(response);
  const { status, statusText, headers } = response;
  return new Response(bytes.length === 0 ? null : bytes, { status, statusText, headers });
};

async function readBounded({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.byteLength;
    // Leaving the loop cancels the body, and with it the connection.
    if (length > ANSWER_BYTES_MAX) throw new AnswerTooLargeError('an answer of the provider is too large');
    chunks.push(chunk);
  }
  return Uint8Array.from(Buffer.concat(chunks));
}
