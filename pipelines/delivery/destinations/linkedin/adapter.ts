import { type Static, Type } from 'typebox';
import type {
  Adapter,
  Answer,
  EventVerdict,
  HttpRequest,
  RequestContext,
  SerializedEvent,
  Verdict,
} from '#pipelines/delivery/contract.ts';
import {
  addressOf,
  classifyAnswer,
  credentialsBroken,
  DELIVERED,
  dead,
  envelope,
  postJson,
  retry,
} from '#pipelines/delivery/platform_http.ts';
import { firstNumber, isRecord, type Properties, textOrParameter } from '#pipelines/events/vocabulary.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';
import type { MapContext, MapResult } from '../../contract.ts';
import { commerceOf, happenedAtMs } from '../../event_fields.ts';
import { baseUrlField, present } from '../../platform_http.ts';
import { eventNamesField, secretField, textField } from '../../setting_fields.ts';

const DEFAULT_BASE_URL = 'https://api.linkedin.com';
/** LinkedIn names its API's versions by month and keeps each for a year. */
const DEFAULT_VERSION = '202603';

const SCHEMA = Type.Object({
  event_names: eventNamesField(
    'Conversion rules',
    'Ids of the conversion rules that events count for; an event without one is skipped.',
    'purchase=123456',
    '\\d{1,20}',
  ),
  access_token: secretField({
    title: 'Access token',
    description: 'Made in Campaign Manager under Conversions, or of an app with r_ads and rw_conversions.',
  }),
  version: textField({
    title: 'API version',
    description: 'Year and month.',
    pattern: '^20\\d{4}$',
    default: DEFAULT_VERSION,
  }),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

type Settings = Static<typeof SCHEMA>;

interface UserId {
  idType: 'SHA256_EMAIL' | 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID';
  idValue: string;
}

/** Names, which LinkedIn takes in clear only, are not sent: the service does not keep them. */
function userIds(identifiers: Identifiers, properties: Properties): UserId[] {
  const click = textOrParameter(properties, ['li_fat_id', '$li_fat_id'], 'li_fat_id');
  return [
    ...(identifiers.email === null ? [] : [{ idType: 'SHA256_EMAIL' as const, idValue: identifiers.email }]),
    ...(click === null ? [] : [{ idType: 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID' as const, idValue: click }]),
  ];
}

/** Amounts go as texts, and only with their currency. */
function conversionValue(event: Event, properties: Properties): object | null {
  const { value, currency } = commerceOf(event, properties);
  return value === null || currency === null ? null : { currencyCode: currency, amount: String(value) };
}

/**
 * An event in the form of LinkedIn's Conversions API, or why it is not sent: `no_conversion_rule` (the site's settings name
 * none for it) or `insufficient_user_data` (neither an e-mail nor a click id).
 */
function mapEvent(entry: EventEntry, context: MapContext<Settings>): MapResult {
  const { event } = entry;
  const { mappedEventName, identifiers, properties } = context;
  if (mappedEventName === null) return { kind: 'skip', reason: 'no_conversion_rule' };
  const ids = userIds(identifiers, properties);
  if (ids.length === 0) return { kind: 'skip', reason: 'insufficient_user_data' };
  const form = present({
    conversion: `urn:lla:llaPartnerConversion:${mappedEventName}`,
    conversionHappenedAt: happenedAtMs(event),
    conversionValue: conversionValue(event, properties),
    eventId: context.dedupId,
    user: { userIds: ids },
  });
  return { kind: 'mapped', form, group: '' };
}

const DAY_MS = 86_400_000;
const AGE_MAX_MS = 90 * DAY_MS;
const BODY = envelope('{"elements":[', ']}');

function request(pieces: readonly SerializedEvent[], { settings, baseUrl }: RequestContext<Settings>): HttpRequest {
  const address = addressOf(baseUrl, settings.base_url, DEFAULT_BASE_URL);
  return postJson(address, '/rest/conversionEvents', BODY.around(pieces), {
    authorization: `Bearer ${settings.access_token}`,
    'linkedin-version': settings.version,
    'x-restli-protocol-version': '2.0.0',
    'x-restli-method': 'BATCH_CREATE',
  });
}

/** Of a conversion rule that does not exist, is not ours or is switched off, as well as of an event. */
const MAYBE_THE_RULE = new Set([400, 403, 404]);

function verdictOf(element: unknown): EventVerdict {
  const status = isRecord(element) ? (firstNumber(element, ['status']) ?? Number.NaN) : Number.NaN;
  if (status >= 200 && status <= 299) return DELIVERED;
  if (status === 401) return credentialsBroken('linkedin_event_401');
  if (status === 429 || status >= 500 || Number.isNaN(status)) return retry('linkedin_event_delayed');
  const reason = `linkedin_event_${status}`;
  return MAYBE_THE_RULE.has(status) ? { kind: 'dead', reason, detail: '', isDoubtful: true } : dead(reason);
}

/** LinkedIn's answers to a batch: a status for each event, in the order sent; else the request's own status. */
const classify = (answer: Answer, sentIds: readonly string[]): Verdict =>
  classifyAnswer(answer, (body, { status }) => {
    if (status !== 200 && status !== 201) return null;
    const elements = isRecord(body) ? body['elements'] : undefined;
    if (!Array.isArray(elements)) return retry('unreadable_answer');
    const verdicts = elements.map(verdictOf);
    if (verdicts.length === sentIds.length) return { kind: 'per_event', verdicts };
    const taken = verdicts.filter(({ kind }) => kind === 'delivered').length;
    if (taken === 0) return retry('unreadable_answer');
    return { kind: 'taken_in_part', taken, detail: `${taken} of ${sentIds.length} taken` };
  });

/** LinkedIn Conversions API. */
export const linkedin: Adapter<Settings> = {
  name: 'linkedin',
  title: 'LinkedIn Conversions API',
  schema: SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'unrestrictable',
  limits: () => ({ batchEventsMax: 5000, batchBytesMax: 2_000_000, concurrencyMax: 4, timeoutMs: 15_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => BODY.bytes,
  request,
  classify,
};
