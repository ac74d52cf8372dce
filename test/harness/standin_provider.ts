import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';

/** A provider of OpenID Connect on the loopback, as the protocol describes one, that can be told to do wrong. */
export interface StandinProvider {
  issuer: string;
  /** What it answers otherwise than it should. */
  wrong: {
    claims?: Record<string, unknown>;
    /** Of the ID token's head; `none` leaves out the signature too. */
    alg?: string;
    /** What its settings say otherwise. */
    settings?: Record<string, unknown>;
    /** Has nobody prove anew who they are, though it is asked to. */
    ignoresMaxAge?: boolean;
    /** Signs by a key that it does not publish. */
    signsByAnother?: boolean;
    /** Answers everything by 500. */
    isBroken?: boolean;
    /** Where it answers blanks for as long as anybody reads them. */
    floodsAt?: string;
    /** Whether these are compressed, a thousand to one. */
    floodsCompressed?: boolean;
  };
  /** When whoever signs in proved last who they are, in seconds: it says so where it is asked by max_age. */
  signedInS: number;
  /** Bytes of blanks that were taken from it. */
  flooded(): number;
  /** Signs by a new key from now on, and publishes that alone. */
  rotate(): void;
  /** Lets somebody sign in, as their browser would: answers the query that it is sent back with. */
  signIn(url: string, subject: string): Promise<string>;
  close(): Promise<void>;
}

const FLOOD_BYTES = 1_048_576;

export const CLIENT = { id: 'dashboard', secret: 'between-us' };

interface Grant {
  subject: string;
  nonce: string;
  challenge: string;
  redirectUri: string;
  /** How old a proof may be, in seconds; null: as old as it is. */
  maxAgeS: number | null;
}

interface Key {
  kid: string;
  privateKey: KeyObject;
  publicKey: KeyObject;
}

export async function startProvider(): Promise<StandinProvider> {
  const grants = new Map<string, Grant>();
  const wrong: StandinProvider['wrong'] = {};
  const stray = newKey();
  let key = newKey();
  let flooded = 0;
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', issuer);
    if (wrong.isBroken === true) response.writeHead(500).end();
    else if (url.pathname === wrong.floodsAt) await flood(response);
    else if (url.pathname === '/.well-known/openid-configuration') json(response, settings());
    else if (url.pathname === '/jwks') json(response, { keys: [publicJwk(key)] });
    else if (url.pathname === '/authorize') authorize(url, response);
    else if (url.pathname === '/token') token(withClient(request, new URLSearchParams(await text(request))), response);
    else response.writeHead(404).end();
  }

  async function flood(response: ServerResponse): Promise<void> {
    const isCompressed = wrong.floodsCompressed === true;
    const blanks = Buffer.alloc(FLOOD_BYTES, ' ');
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
    });
    const part = isCompressed ? gzipSync(blanks) : blanks;
    const closed = once(response, 'close');
    while (!response.destroyed) {
      const isTaken = response.write(part);
      flooded += part.length;
      if (!isTaken) await Promise.race([once(response, 'drain'), closed]);
    }
  }

  const settings = (): object => ({
    ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
    ...{ jwks_uri: `${issuer}/jwks`, response_types_supported: ['code'], subject_types_supported: ['public'] },
    ...{ id_token_signing_alg_values_supported: ['ES256'], code_challenge_methods_supported: ['S256'] },
    ...{ authorization_response_iss_parameter_supported: true, ...wrong.settings },
  });

  function authorize({ searchParams: asked }: URL, response: ServerResponse): void {
    const need = (name: string): string => asked.get(name) ?? '';
    const isWhole = need('response_type') === 'code' && need('client_id') === CLIENT.id && need('scope') === 'openid';
    if (!isWhole || need('code_challenge_method') !== 'S256') {
      response.writeHead(400).end();
      return;
    }
    const code = randomUUID();
    grants.set(code, {
      ...{ subject: need('login_hint'), nonce: need('nonce'), challenge: need('code_challenge') },
      redirectUri: need('redirect_uri'),
      maxAgeS: asked.has('max_age') ? Number(need('max_age')) : null,
    });
    const back = new URL(need('redirect_uri'));
    back.search = new URLSearchParams({ code, state: need('state'), iss: issuer }).toString();
    response.writeHead(302, { location: back.href }).end();
  }

  function token(sent: URLSearchParams, response: ServerResponse): void {
    const grant = grants.get(sent.get('code') ?? '');
    grants.delete(sent.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(sent.get('code_verifier') ?? '')
      .digest('base64url');
    const isClient = sent.get('client_id') === CLIENT.id && sent.get('client_secret') === CLIENT.secret;
    const isRight = grant?.challenge === challenge && grant.redirectUri === sent.get('redirect_uri');
    if (grant === undefined || !isClient || !isRight) {
      json(response, { error: 'invalid_grant' }, 400);
      return;
    }
    const now = Math.floor(Date.now() / 1000);
    const isOld = grant.maxAgeS !== null && now - provider.signedInS >= grant.maxAgeS;
    if (isOld && wrong.ignoresMaxAge !== true) provider.signedInS = now;
    const auth = grant.maxAgeS === null ? {} : { auth_time: provider.signedInS };
    const claims = { iss: issuer, aud: CLIENT.id, sub: grant.subject, nonce: grant.nonce, iat: now, exp: now + 60 };
    const id_token = signed({ ...claims, ...auth, ...wrong.claims });
    json(response, { access_token: randomUUID(), token_type: 'Bearer', id_token });
  }

  function signed(claims: object): string {
    const { alg = 'ES256' } = wrong;
    const by = wrong.signsByAnother === true ? stray : key;
    const head = encoded({ alg, kid: key.kid, typ: 'JWT' });
    const content = `${head}.${encoded(claims)}`;
    if (alg === 'none') return `${content}.`;
    const signature = sign('sha256', Buffer.from(content), { key: by.privateKey, dsaEncoding: 'ieee-p1363' });
    return `${content}.${signature.toString('base64url')}`;
  }

  const provider: StandinProvider = {
    issuer,
    wrong,
    signedInS: Math.floor(Date.now() / 1000),
    flooded: () => flooded,
    rotate() {
      key = newKey();
    },
    async signIn(url, subject) {
      const asked = new URL(url);
      asked.searchParams.set('login_hint', subject);
      const answered = await fetch(asked, { redirect: 'manual' });
      return new URL(answered.headers.get('location') ?? '').search.slice(1);
    },
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
  return provider;
}

/** With the client that the header names, where it does. */
function withClient({ headers }: IncomingMessage, sent: URLSearchParams): URLSearchParams {
  const [, basic] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? [];
  if (basic === undefined) return sent;
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent);
  sent.set('client_id', id);
  sent.set('client_secret', secret);
  return sent;
}

function newKey(): Key {
  return { kid: randomUUID(), ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
}

const publicJwk = ({ kid, publicKey }: Key): object => ({
  ...publicKey.export({ format: 'jwk' }),
  ...{ kid, alg: 'ES256', use: 'sig' },
});

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
