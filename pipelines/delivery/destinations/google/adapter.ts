import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { type Static, Type } from 'typebox';
import type {
  Adapter,
  Answer,
  Authorisation,
  HttpRequest,
  RequestContext,
  SerializedEvent,
  TokenAnswer,
  Verdict,
} from '#pipelines/delivery/contract.ts';
import {
  addressOf,
  classifyAnswer,
  credentialsBroken,
  DELIVERED,
  doubtful,
  joined,
  postJson,
  readJson,
  retry,
  safeWord,
  split,
  throttle,
} from '#pipelines/delivery/platform_http.ts';
import { isRestricted, type PrivacyChoices } from '#pipelines/events/consent.ts';
import { firstNumber, firstText, isRecord, type Properties, pageParameter } from '#pipelines/events/vocabulary.ts';
import { countryCode } from '#pipelines/privacy/countries.ts';
import type { ActionSource, Event, EventEntry } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import type { MapContext, MapResult } from '../../contract.ts';
import { commerceOf, happenedAtMs, type Item } from '../../event_fields.ts';
import { everyHash, type GoogleName, googleNames, plainPlace } from '../../matching.ts';
import { baseUrlField, listOrNull, present, presentOrNull } from '../../platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '../../setting_fields.ts';

const DEFAULT_BASE_URL = 'https://datamanager.googleapis.com';
const DEFAULT_TOKEN_URL = 'https://oauth2.googleapis.com/token';

const ACCOUNT = '^\\d{3}-?\\d{3}-?\\d{4}$';

const GOOGLE_SCHEMA = Type.Object({
  customer_id: textField({
    title: 'Google Ads account',
    description: 'The customer id of the account that has the conversion actions.',
    pattern: ACCOUNT,
  }),
  login_customer_id: Type.Optional(
    textField({
      title: 'Manager account',
      description: 'Where the service account has its access through a manager account.',
      pattern: ACCOUNT,
    }),
  ),
  event_names: eventNamesField(
    'Conversion actions',
    'Ids of the conversion actions that events count for; an event without one is skipped.',
    'purchase=123456789',
    '\\d{1,20}',
  ),
  service_account_key: secretField({
    title: 'Service account key',
    description: 'The whole JSON key file of a service account that may use the Data Manager API.',
  }),
  consent: choiceField(['unset', 'granted', 'denied'], {
    title: 'Consent',
    description:
      'What is declared for advertising where an event says nothing itself; with denied only events that say granted are sent.',
    default: 'unset',
  }),
  token_url: textField({
    title: 'Token address',
    called: true,
    description: 'Of the OAuth 2 token service; changed only for a gateway of your own.',
    pattern: '^https?://[^\\s?#]+$',
    default: DEFAULT_TOKEN_URL,
  }),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

type GoogleSettings = Static<typeof GOOGLE_SCHEMA>;

/** Google's word for where an event happened; it has none for e-mail and back-office jobs. */
const EVENT_SOURCES: Record<ActionSource, string> = {
  website: 'WEB',
  physical_store: 'IN_STORE',
  phone_call: 'PHONE',
  chat: 'MESSAGE',
  email: 'OTHER',
  system_generated: 'OTHER',
};

/** An address matches only when all four of its parts are there. */
function userAddressOf(event: Event, site: Site, { givenName, familyName }: GoogleName): object | null {
  const country = countryCode(event.country) ?? countryCode(site.default_country);
  const postalCode = plainPlace(event.zip);
  if (givenName === null || familyName === null || country === null || postalCode === null) return null;
  return { address: { givenName, familyName, regionCode: country.toUpperCase(), postalCode } };
}

const IDENTIFIERS_MAX = 10;

/** At most ten, so that of many addresses and numbers none crowds out the postal address. */
function userIdentifiers(event: Event, context: MapContext<unknown>): object[] {
  const emails = everyHash(context, ({ email, email_google }) => email_google ?? email);
  const phones = everyHash(context, ({ phone }) => phone);
  const addresses = googleNames(context).flatMap((name) => userAddressOf(event, context.site, name) ?? []);
  const rest = IDENTIFIERS_MAX - addresses.length;
  const direct = [
    ...emails.map((emailAddress) => ({ emailAddress })),
    ...phones.map((phoneNumber) => ({ phoneNumber })),
  ];
  return [...direct.slice(0, rest), ...addresses];
}

const CLICK_IDS = ['gclid', 'gbraid', 'wbraid'] as const;

/**
 * One click id, as Google Ads refuses conversions with more than one: of the newest click, which is that of the page's address, and
 * where a click gave several, the first of gclid, gbraid and wbraid.
 */
function adIdentifiers(properties: Properties): object | null {
  const ofPage = CLICK_IDS.map((name): [string, string | null] => [name, pageParameter(properties, name)]);
  const kept = CLICK_IDS.map((name): [string, string | null] => [name, firstText(properties, [name, `$${name}`])]);
  const found = [...ofPage, ...kept].find(([, id]) => id !== null);
  return found === undefined ? null : Object.fromEntries([found]);
}

const word = (granted: boolean | null): string | null =>
  granted === null ? null : granted ? 'CONSENT_GRANTED' : 'CONSENT_DENIED';

/** Google has no other word for limited use than that advertising is not personalised. */
const consent = (choices: PrivacyChoices): object | null =>
  presentOrNull({
    adUserData: word(choices.adUserData),
    adPersonalization: word(isRestricted(choices) ? false : choices.adPersonalization),
  });

const cartItem = ({ id, price, quantity }: Item): object =>
  present({ merchantProductId: id, quantity: String(Math.max(1, Math.round(quantity ?? 1))), unitPrice: price });

/** A purchase is known by its order, as the tag on the page knows it, so that both count once; anything else by its id. */
const transactionId = (event: Event, context: MapContext<GoogleSettings>): string =>
  (context.name.canonical === 'purchase' ? event.order_id : null) ?? event.event_id;

/**
 * An event in the form of the Data Manager API, or why it is not sent: `no_conversion_action` (the site's settings name
 * none for it) or `insufficient_user_data` (neither a click id nor a hashed identifier). The group is the conversion
 * action.
 */
function mapEvent(entry: EventEntry, context: MapContext<GoogleSettings>): MapResult {
  const { event } = entry;
  const { properties, mappedEventName, choices } = context;
  if (mappedEventName === null) return { kind: 'skip', reason: 'no_conversion_action' };
  const ads = adIdentifiers(properties);
  const user = userIdentifiers(event, context);
  if (ads === null && user.length === 0) return { kind: 'skip', reason: 'insufficient_user_data' };
  const { value, currency, items } = commerceOf(event, properties);
  const cart = listOrNull(items.map(cartItem));
  const form = present({
    transactionId: transactionId(event, context),
    eventTimestamp: new Date(happenedAtMs(event)).toISOString(),
    eventSource: EVENT_SOURCES[event.action_source],
    conversionValue: value,
    currency: value === null ? null : currency,
    adIdentifiers: ads,
    userData: user.length === 0 ? null : { userIdentifiers: user },
    consent: consent(choices),
    cartData: cart === null ? null : { items: cart },
    eventLocation: presentOrNull({ storeId: firstText(properties, ['store_id', 'store_code']) }),
  });
  return { kind: 'mapped', form, group: mappedEventName };
}

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
const authorisation: Authorisation<GoogleSettings> = {
  request: ({ settings, baseUrl, nowMs }) => {
    const account = readKeyFile(settings.service_account_key);
    if (account === null) return { kind: 'none', verdict: credentialsBroken('service_account_key_unreadable') };
    return { kind: 'request', request: tokenRequest(account, settings, baseUrl, nowMs) };
  },
  read: readToken,
};

const DAY_MS = 86_400_000;
/** Google Ads counts a conversion up to 90 days after the click. */
const AGE_MAX_MS = 90 * DAY_MS;
const ENVELOPE_BYTES_MAX = 500;

const account = (id: string): object => ({ accountType: 'GOOGLE_ADS', accountId: id.replaceAll('-', '') });

function destination(settings: GoogleSettings, conversionAction: string): object {
  const { customer_id, login_customer_id } = settings;
  return {
    operatingAccount: account(customer_id),
    ...(login_customer_id === undefined ? {} : { loginAccount: account(login_customer_id) }),
    productDestinationId: conversionAction,
  };
}

function request(pieces: readonly SerializedEvent[], context: RequestContext<GoogleSettings>): HttpRequest {
  const { settings, token, group } = context;
  const envelope = JSON.stringify({ destinations: [destination(settings, group)], encoding: 'HEX' });
  const forms = joined(pieces);
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  const body = `${envelope.slice(0, -1)},"events":[${forms}]}`;
  return postJson(address, '/v1/events:ingest', body, { authorization: `Bearer ${token}` });
}

interface Violation {
  field: string;
  reason: string;
}

const detailsOf = (error: Record<string, unknown>): Record<string, unknown>[] =>
  Array.isArray(error['details']) ? error['details'].filter(isRecord) : [];

function violationsOf(error: Record<string, unknown>): Violation[] {
  return detailsOf(error).flatMap((detail) => {
    const violations: unknown[] = Array.isArray(detail['fieldViolations']) ? detail['fieldViolations'] : [];
    return violations
      .filter(isRecord)
      .map((one) => ({ field: firstText(one, ['field']) ?? '', reason: safeWord(one['reason']) }));
  });
}

/** The wait of a RetryInfo, a duration such as `30s`. */
function retryDelayMs(error: Record<string, unknown>): number | null {
  const delays = detailsOf(error).map((detail) => /^(\d{1,6})(\.\d+)?s$/.exec(firstText(detail, ['retryDelay']) ?? ''));
  const seconds = delays.find((match) => match !== null)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1000;
}

const placeOf = ({ field }: Violation): number | null => {
  const index = /\bevents\[(\d+)\]/.exec(field)?.[1];
  return index === undefined ? null : Number(index);
};

/** A request is refused as a whole: for its events, which are named, or for the account or conversion action it goes to. */
function classifyInvalid(error: Record<string, unknown>, reason: string): Verdict {
  const violations = violationsOf(error);
  const detail = violations[0]?.reason ?? '';
  const refusedIndexes = violations.map(placeOf).filter((place) => place !== null);
  const isOfDestination = violations.length > 0 && violations.every(({ field }) => /\bdestinations\b/.test(field));
  if (isOfDestination) return credentialsBroken('google_destination_invalid', detail);
  return refusedIndexes.length > 0 ? split(reason, detail, refusedIndexes) : doubtful(reason, detail);
}

function classifyError(error: Record<string, unknown>, status: number, waitMs: number | null): Verdict {
  const word = safeWord(error['status']).toLowerCase();
  const reason = `google_${word === '' ? status : word}`;
  if (status === 429) return throttle(reason, waitMs ?? retryDelayMs(error));
  if (status === 401 || status === 403 || status === 404) return credentialsBroken(reason);
  return status === 400 ? classifyInvalid(error, reason) : retry(reason);
}

/**
 * Google's answers: a request id, or a google.rpc.Status as `error`. That a request was taken means that it passed the
 * first checks; Google matches its events later.
 */
const classify = (answer: Answer): Verdict =>
  classifyAnswer(answer, (body, { status }, waitMs) => {
    if (isRecord(body) && isRecord(body['error'])) return classifyError(body['error'], status, waitMs);
    if (status !== 200) return null;
    return isRecord(body) && typeof body['requestId'] === 'string' ? DELIVERED : retry('unreadable_answer');
  });

/** Google Ads conversions through the Data Manager API. */
export const google: Adapter<GoogleSettings> = {
  name: 'google',
  title: 'Google Ads (Data Manager API)',
  schema: GOOGLE_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  authorisation,
  limits: () => ({ batchEventsMax: 2000, batchBytesMax: 2_000_000, concurrencyMax: 4, timeoutMs: 15_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => ENVELOPE_BYTES_MAX,
  request,
  classify,
};
