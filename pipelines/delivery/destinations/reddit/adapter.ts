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
  DELIVERED,
  dead,
  doubtful,
  envelope,
  postJson,
  retry,
  split,
  throttle,
} from '#pipelines/delivery/platform_http.ts';
import { isRestricted, type PrivacyChoices } from '#pipelines/events/consent.ts';
import {
  type CanonicalName,
  conversionName,
  firstId,
  isRecord,
  type Properties,
  textOrParameter,
} from '#pipelines/events/vocabulary.ts';
import { countryCode } from '#pipelines/privacy/countries.ts';
import { sha256Hex } from '#pipelines/privacy/hash_identifiers.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';
import type { MapContext, MapResult } from '../../contract.ts';
import { commerceOf, happenedAtMs, type Item } from '../../event_fields.ts';
import { clientAddress, clientUserAgent, isKnownByDevice } from '../../matching.ts';
import { baseUrlField, cutText, listOrNull, present } from '../../platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '../../setting_fields.ts';

const DEFAULT_BASE_URL = 'https://ads-api.reddit.com';

const REDDIT_SCHEMA = Type.Object({
  pixel_id: textField({
    title: 'Pixel id',
    description: 'As in a2_abcdefgh or t2_abcdefgh; shown in Events Manager.',
    pattern: '^[A-Za-z0-9_]{4,40}$',
  }),
  access_token: secretField({
    title: 'Conversion access token',
    description: 'Made in Events Manager under Conversions API.',
  }),
  limited_data_use: choiceField(['no', 'yes'], {
    title: 'Limited data use',
    description: 'What is declared where an event says nothing itself.',
    default: 'no',
  }),
  event_names: Type.Optional(
    eventNamesField('Event names', "Reddit's standard names for events of yours; any other goes as a custom event."),
  ),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

type RedditSettings = Static<typeof REDDIT_SCHEMA>;

/** Reddit's tracking types; any other act is a custom event under the name it was given. */
const TRACKING_TYPES: Partial<Record<CanonicalName, string>> = {
  page_view: 'PAGE_VISIT',
  view_item: 'VIEW_CONTENT',
  view_item_list: 'VIEW_CONTENT',
  search: 'SEARCH',
  add_to_cart: 'ADD_TO_CART',
  add_to_wishlist: 'ADD_TO_WISHLIST',
  purchase: 'PURCHASE',
  generate_lead: 'LEAD',
  sign_up: 'SIGN_UP',
};

const CUSTOM_NAME_CHARACTERS_MAX = 64;

/** A site may choose a name as Reddit's pixel has it (SignUp) or as its API has it (SIGN_UP). */
function typeOf({ name, mappedEventName }: MapContext<RedditSettings>): object {
  const { canonical, given } = mappedEventName === null ? name : conversionName(mappedEventName);
  const standard = canonical === null ? undefined : TRACKING_TYPES[canonical];
  if (standard !== undefined) return { tracking_type: standard };
  return { tracking_type: 'CUSTOM', custom_event_name: cutText(given, CUSTOM_NAME_CHARACTERS_MAX) };
}

const isLimited = (settings: RedditSettings, choices: PrivacyChoices): boolean =>
  isRestricted(choices) || (choices.limitedDataUse === null && settings.limited_data_use === 'yes');

function dataProcessing(event: Event): object {
  const country = countryCode(event.country)?.toUpperCase() ?? null;
  return present({ modes: ['LDU'], country });
}

/** Reddit hashes the address as well; e-mail goes without dots and plus, whatever its domain. */
function userOf(
  event: Event,
  identifiers: Identifiers,
  properties: Properties,
  isLimited: boolean,
): Record<string, unknown> {
  const address = clientAddress(event);
  return present({
    email: identifiers.email_stripped ?? identifiers.email,
    phone_number: identifiers.phone,
    external_id: identifiers.external_id,
    ip_address: address === null ? null : sha256Hex(address),
    user_agent: clientUserAgent(event),
    uuid: firstId(properties, ['rdt_uuid', '_rdt_uuid', '$rdt_uuid']),
    data_processing_options: isLimited ? dataProcessing(event) : null,
  });
}

const MATCHING = ['email', 'phone_number', 'external_id', 'uuid'];

const isMatchable = (user: Record<string, unknown>, event: Event): boolean =>
  MATCHING.some((key) => key in user) || (isKnownByDevice(event) && 'ip_address' in user);

const product = ({ id, name, category }: Item): object => present({ id, name, category });

/** An event in the form of Reddit's Conversions API, or `insufficient_user_data`. */
function mapEvent(entry: EventEntry, context: MapContext<RedditSettings>): MapResult {
  const { event } = entry;
  const { settings, properties, identifiers, choices } = context;
  const user = userOf(event, identifiers, properties, isLimited(settings, choices));
  const click = textOrParameter(properties, ['rdt_cid', '$rdt_cid'], 'rdt_cid');
  if (click === null && !isMatchable(user, event)) return { kind: 'skip', reason: 'insufficient_user_data' };
  const { value, currency, itemCount, items } = commerceOf(event, properties);
  const form = present({
    event_at: happenedAtMs(event),
    action_source: event.action_source === 'website' ? 'WEBSITE' : 'OFFLINE',
    type: typeOf(context),
    click_id: click,
    user,
    metadata: present({
      conversion_id: context.dedupId,
      value,
      currency,
      item_count: itemCount,
      products: listOrNull(items.map(product)),
    }),
  });
  return { kind: 'mapped', form, group: settings.pixel_id };
}

const DAY_MS = 86_400_000;
const AGE_MAX_MS = 7 * DAY_MS;
const BODY = envelope('{"data":{"events":[', ']}}');

function request(pieces: readonly SerializedEvent[], context: RequestContext<RedditSettings>): HttpRequest {
  const { settings } = context;
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  const headers = { authorization: `Bearer ${settings.access_token}` };
  return postJson(address, `/api/v3/pixels/${context.group}/conversion_events`, BODY.around(pieces), headers);
}

const INVALID_EVENT = dead('reddit_invalid_event');

const recordsIn = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** Events that Reddit left out of a request it took; it repeats them, and their conversion id tells which they are. */
function classifyTaken(data: Record<string, unknown>, sentIds: readonly string[]): Verdict {
  const invalid = recordsIn(data['invalid_events']);
  if (invalid.length === 0) return DELIVERED;
  const ids = invalid.map((one) => {
    const event = isRecord(one['event']) ? one['event'] : {};
    return isRecord(event['metadata']) ? event['metadata']['conversion_id'] : undefined;
  });
  const known = new Set(ids.filter((id) => typeof id === 'string' && sentIds.includes(id)));
  // Of one that it does not name nothing would tell that it was left out.
  if (known.size < invalid.length) return split('reddit_invalid_event');
  const verdicts = sentIds.map((id): EventVerdict => (known.has(id) ? INVALID_EVENT : DELIVERED));
  return { kind: 'per_event', verdicts };
}

/** Places of the events that a refusal names by its fields, as in `data.events[3].type`. */
function refusedIndexesOf(error: unknown): number[] {
  const fields = isRecord(error) ? recordsIn(error['fields']) : [];
  return fields.flatMap(({ field }) => {
    const place = /\bevents\[(\d{1,6})\]/.exec(typeof field === 'string' ? field : '')?.[1];
    return place === undefined ? [] : [Number(place)];
  });
}

/** Seconds until the limit counts anew, where there is no Retry-After. */
function resetMs(headers: Record<string, string>): number | null {
  const seconds = headers['x-ratelimit-reset']?.trim() ?? '';
  return /^\d{1,6}(\.\d+)?$/.test(seconds) ? Math.ceil(Number(seconds)) * 1000 : null;
}

/** Reddit's answers: `data` for a request that was taken, `error` for one that was not, whose text repeats the event. */
const classify = (answer: Answer, sentIds: readonly string[]): Verdict =>
  classifyAnswer(answer, (body, { status, headers }, waitMs) => {
    if (status === 429) return throttle('http_429', waitMs ?? resetMs(headers));
    if (status === 400 && isRecord(body)) {
      const refusedIndexes = refusedIndexesOf(body['error']);
      return refusedIndexes.length > 0 ? split('reddit_400', '', refusedIndexes) : doubtful('reddit_400');
    }
    if (status !== 200) return null;
    const data = isRecord(body) ? body['data'] : undefined;
    return isRecord(data) ? classifyTaken(data, sentIds) : retry('unreadable_answer');
  });

/** Reddit Conversions API, version 3. */
export const reddit: Adapter<RedditSettings> = {
  name: 'reddit',
  title: 'Reddit Conversions API',
  schema: REDDIT_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  limits: () => ({ batchEventsMax: 1000, batchBytesMax: 1_000_000, concurrencyMax: 4, timeoutMs: 10_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => BODY.bytes,
  request,
  classify,
};
