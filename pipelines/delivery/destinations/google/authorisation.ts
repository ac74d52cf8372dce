import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import type { Answer, Authorisation, HttpRequest, TokenAnswer } from '#pipelines/delivery/contract.ts';
import { classifyAnswer, credentialsBroken, readJson, retry, safeWord } from '#pipelines/delivery/platform_http.ts';
import { firstNumber, isRecord } from '#pipelines/events/vocabulary.ts';
import { DEFAULT_TOKEN_URL, type GoogleSettings } from './settings.ts';

const SCOPE = 'https://www.googleapis.com/auth/datamanager';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** The longest that Google takes. */
const ASSERTION_LIFETIME_S = 3600;

interface ServiceAccount {
  email: string;
  keyId: string | null;
  key: KeyObject;
}

/** Null when the text is no key file. What the parser says of it may quote the key and is dropped. */
function readKeyFile(text: string): ServiceAccount | null {
  const file = readJson(text);
  if (!isRecord(file)) return null;
  const { client_email: email, private_key: pem, private_key_id: keyId } = file;
  if (typeof email !== 'string' || typeof pem !== 'string') return null;
  try {
    return { email, keyId: typeof keyId === 'string' ? keyId : null, key: createPrivateKey(pem) };
  } catch {
    return null;
  }
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The signed statement by which a service account asks for a token, as Google's page on service accounts has it. */
function assertion({ email, keyId, key }: ServiceAccount, audience: string, nowMs: number): string {
  const issuedAtS = Math.floor(nowMs / 1000);
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === null ? {} : { kid: keyId }) };
  const claims = { iss: email, scope: SCOPE, aud: audience, iat: issuedAtS, exp: issuedAtS + ASSERTION_LIFETIME_S };
  const signed = `${encoded(header)}.${encoded(claims)}`;
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
}

function tokenRequest(
  account: ServiceAccount,
  settings: GoogleSettings,
  override: string | null,
  nowMs: number,
): HttpRequest {
  const fields = { grant_type: GRANT_TYPE, assertion: assertion(account, settings.token_url, nowMs) };
  return {
    method: 'POST',
    url: override === null ? settings.token_url : `${override.replace(/\/+$/, '')}/token`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
    trusted: override !== null || settings.token_url === DEFAULT_TOKEN_URL,
  };
}

function readToken(answer: Answer): TokenAnswer {
  const body = answer.kind === 'answered' && answer.status === 200 ? readJson(answer.body) : null;
  if (isRecord(body) && typeof body['access_token'] === 'string') {
    const lifetimeMs = (firstNumber(body, ['expires_in']) ?? ASSERTION_LIFETIME_S) * 1000;
    return { kind: 'token', token: body['access_token'], lifetimeMs };
  }
  const verdict = classifyAnswer(answer, (said, { status }) => {
    if (status !== 400 && status !== 401 && status !== 403) return null;
    const word = isRecord(said) ? safeWord(said['error']) : '';
    return credentialsBroken(`oauth_${word === '' ? status : word}`);
  });
  const { kind } = verdict;
  const isOfEvents = kind === 'split' || kind === 'per_event' || kind === 'taken_in_part' || kind === 'delivered';
  return { kind: 'none', verdict: isOfEvents ? retry('unreadable_answer', 'token') : verdict };
}

/** A service account's token, by RFC 7523. */
export const authorisation: Authorisation<GoogleSettings> = {
  request: ({ settings, baseUrl, nowMs }) => {
    const account = readKeyFile(settings.service_account_key);
    if (account === null) return { kind: 'none', verdict: credentialsBroken('service_account_key_unreadable') };
    return { kind: 'request', request: tokenRequest(account, settings, baseUrl, nowMs) };
  },
  read: readToken,
};
