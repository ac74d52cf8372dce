import { createPublicKey, createVerify } from 'node:crypto';
import { isCurrency } from '#services/local/platforms/meta.ts';
import {
  isRecord,
  type PlatformAnswer,
  type PlatformRequest,
  type PlatformStandin,
  readJson,
} from '#services/local/platforms/standin.ts';
import {
  type Check,
  fieldFault,
  isDigest,
  isListOf,
  isNumber,
  isObjectOf,
  isOneOf,
  isText,
  missingFault,
} from './checks.ts';
import { bearerToken, type JsonRequest, jsonAnswer, jsonStandin } from './json_platform.ts';

/** Public keys in PEM by the service account they belong to. */
type ServiceAccounts = Readonly<Record<string, string>>;

const SCOPE = 'https://www.googleapis.com/auth/datamanager';
const TOKEN_LIFETIME_S = 3599;
const DAY_MS = 86_400_000;

const isMoney: Check = (value) => isNumber(value);
const isDigits: Check = (value) => typeof value === 'string' && /^\d+$/.test(value);
const isRegion: Check = (value) => typeof value === 'string' && /^[A-Z]{2}$/.test(value);
const isInstant: Check = (value) =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value);
const isConsent = isOneOf(['CONSENT_GRANTED', 'CONSENT_DENIED', 'CONSENT_STATUS_UNSPECIFIED']);

const ADDRESS: Record<string, Check> = {
  givenName: isDigest,
  familyName: isDigest,
  regionCode: isRegion,
  postalCode: isText,
};
const isAddressInfo: Check = (value) =>
  isObjectOf(ADDRESS)(value) && isRecord(value) && Object.keys(value).length === 4;
const isIdentifier: Check = (value) =>
  isObjectOf({ emailAddress: isDigest, phoneNumber: isDigest, address: isAddressInfo })(value) &&
  isRecord(value) &&
  Object.keys(value).length === 1;

const EVENT: Record<string, Check> = {
  transactionId: isText,
  eventTimestamp: isInstant,
  eventSource: isOneOf(['WEB', 'APP', 'IN_STORE', 'PHONE', 'MESSAGE', 'OTHER']),
  conversionValue: isMoney,
  currency: isCurrency,
  adIdentifiers: isObjectOf({ gclid: isText, gbraid: isText, wbraid: isText }),
  userData: isObjectOf({
    userIdentifiers: (value) => isListOf(isIdentifier)(value) && Array.isArray(value) && value.length <= 10,
  }),
  consent: isObjectOf({ adUserData: isConsent, adPersonalization: isConsent }),
  cartData: isObjectOf({
    items: isListOf(isObjectOf({ merchantProductId: isText, quantity: isDigits, unitPrice: isMoney })),
  }),
  eventLocation: isObjectOf({ storeId: isText }),
};

const isAccount = isObjectOf({ accountType: isOneOf(['GOOGLE_ADS']), accountId: isDigits });
const DESTINATION: Record<string, Check> = {
  operatingAccount: isAccount,
  loginAccount: isAccount,
  productDestinationId: isDigits,
};

function rpcError(status: number, word: string, details: object[] = []): PlatformAnswer {
  return jsonAnswer(status, { error: { code: status, message: 'As the stand-in says.', status: word, details } });
}

const badRequest = (fieldViolations: object[]): PlatformAnswer =>
  rpcError(400, 'INVALID_ARGUMENT', [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }]);

function eventFault(event: Record<string, unknown>, nowMs: number): string | null {
  const fault = fieldFault(event, EVENT) ?? missingFault(event, ['transactionId', 'eventTimestamp', 'eventSource']);
  if (fault !== null) return fault;
  const ageMs = nowMs - Date.parse(String(event['eventTimestamp']));
  if (ageMs > 90 * DAY_MS || ageMs < -60_000) return 'eventTimestamp is out of range';
  return 'adIdentifiers' in event || 'userData' in event ? null : 'nothing to match by';
}

function destinationOf(body: Record<string, unknown>): Record<string, unknown> | null {
  const list = body['destinations'];
  const [first]: unknown[] = Array.isArray(list) && list.length === 1 ? list : [];
  return isObjectOf(DESTINATION)(first) && isRecord(first) ? first : null;
}

function eventsOf({ body }: JsonRequest): readonly unknown[] | null {
  const isKnown = Object.keys(body).every((key) => ['destinations', 'encoding', 'events'].includes(key));
  if (!isKnown || body['encoding'] !== 'HEX' || destinationOf(body) === null) return null;
  return Array.isArray(body['events']) ? body['events'] : null;
}

const decoded = (part: string | undefined): Record<string, unknown> => {
  const value = readJson(Buffer.from(part ?? '', 'base64url').toString('utf8'));
  return isRecord(value) ? value : {};
};

/** The service account that a signed statement is of; null when it is not as RFC 7523 and Google ask. */
function signerOf(assertion: string, accounts: ServiceAccounts, nowMs: number): string | null {
  const [header, claims, signature] = assertion.split('.');
  const { iss, scope, aud, iat, exp } = decoded(claims);
  if (decoded(header)['alg'] !== 'RS256' || typeof iss !== 'string' || scope !== SCOPE || typeof aud !== 'string')
    return null;
  if (typeof iat !== 'number' || typeof exp !== 'number' || exp - iat > 3600 || exp * 1000 < nowMs) return null;
  const pem = accounts[iss];
  if (pem === undefined) return null;
  const verify = createVerify('RSA-SHA256').update(`${header}.${claims}`);
  return verify.verify(createPublicKey(pem), Buffer.from(signature ?? '', 'base64url')) ? iss : null;
}

/**
 * A stand-in for Google's Data Manager API, `POST /v1/events:ingest`, and for its token service, `POST /token`, which gives
 * tokens to the service accounts whose signature it can check. Scripts name the latter's scope `@token`.
 */
export function googleStandin(accounts: ServiceAccounts): PlatformStandin {
  const holders = new Map<string, string>();

  function giveToken(request: PlatformRequest, nowMs: number): PlatformAnswer {
    const fields = new URLSearchParams(request.body);
    const isGrant = fields.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer';
    const signer = isGrant ? signerOf(fields.get('assertion') ?? '', accounts, nowMs) : null;
    if (signer === null)
      return jsonAnswer(400, { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' });
    const access_token = `ya29.${holders.size}`;
    holders.set(access_token, signer);
    return jsonAnswer(200, { access_token, expires_in: TOKEN_LIFETIME_S, token_type: 'Bearer' });
  }

  return jsonStandin({
    keyWindowMs: Number.POSITIVE_INFINITY,
    path: /^\/v1\/events:ingest$/,
    scopeOf: (_url, body) => {
      const account = destinationOf(body)?.['operatingAccount'];
      return isRecord(account) ? String(account['accountId']) : '';
    },
    tokenOf: (request) => holders.get(bearerToken(request) ?? '') ?? null,
    eventsOf,
    eventsMax: 2000,
    bytesMax: 10_000_000,
    eventFault: (event, _request, nowMs) => eventFault(event, nowMs),
    identify: (event, { body }) => {
      const id = String(event['transactionId']);
      const name = String(destinationOf(body)?.['productDestinationId']);
      return { key: [name, id], id, name };
    },
    accepted: (count) => jsonAnswer(200, { requestId: `request-of-${count}` }),
    refusal: (status, description, problem) => {
      if (problem === 'account')
        return badRequest([{ field: 'destinations[0].operating_account', reason: 'INVALID_ACCOUNT' }]);
      if (problem === 'form') return badRequest([{ field: 'request', description, reason: 'INVALID_FORMAT' }]);
      return rpcError(status, { path: 'NOT_FOUND', token: 'UNAUTHENTICATED' }[problem as string] ?? 'INVALID_ARGUMENT');
    },
    refused: (faults) => {
      const reason = 'INVALID_FORMAT';
      const violations = [...faults].map(([place, description]) => ({
        field: `events.events[${place}]`,
        description,
        reason,
      }));
      return badRequest(violations);
    },
    throttled: (seconds) => {
      const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds}s` };
      return rpcError(429, 'RESOURCE_EXHAUSTED', seconds === null ? [] : [retry]);
    },
    aside: (request, nowMs) =>
      request.path === '/token' ? { scope: '@token', answer: giveToken(request, nowMs) } : null,
  });
}
