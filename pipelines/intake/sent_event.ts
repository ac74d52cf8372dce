// An event as it was sent, each field read and checked.

import { pageUrl } from '#pipelines/events/vocabulary.ts';
import { isObject, type JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { pseudonym } from '#pipelines/privacy/hash_identifiers.ts';
import type { WorkBudget } from '#pipelines/privacy/normalise_text.ts';
import { CONTROL_CHARACTERS, isNobodysId, isPlaceholderId, numberId } from '#pipelines/privacy/placeholder_ids.ts';
import { redactText } from '#pipelines/privacy/redact_text.ts';
import { ACTION_SOURCES, type ActionSource, type Caller } from '#schemas/event.ts';
import { eventCountries, type IntakeContext, idCountries, type SentEvent } from './call.ts';
import { readUuid } from './event_id.ts';
import { type RejectionCode, readEventName, readShortText } from './field_rules.ts';
import { isAbsentOrObject, objectOr, own } from './json_text.ts';
import { readTimestamp, writtenTime } from './timestamp.ts';

type SentEventOutcome = { ok: true; event: SentEvent } | { ok: false; code: RejectionCode };

/**
 * Checks the fields of an event; unknown fields are ignored.
 *
 * @param known Countries that are known of the request.
 */
export function readSentEvent(
  sent: unknown,
  context: IntakeContext,
  known: readonly string[],
  budget?: WorkBudget,
): SentEventOutcome {
  if (!isObject(sent)) return refuse('event_not_object');
  const countries = isObject(sent['properties']) ? eventCountries(sent['properties'], known) : known;
  const name = readEventName(
    context.isCrossOrigin === true ? foreignName(sent['event'], countries, budget) : sent['event'],
  );
  if (!name.ok) return name;
  const sentUuid = shortId(sent['uuid'], context);
  const sentDistinctId = shortId(sent['distinct_id'], context);
  const isUuidAbsent = isAbsent(sentUuid) || isPlaceholderText(sentUuid);
  const uuid = isUuidAbsent
    ? null
    : readUuid(sentUuid, context.identitySecret, idCountries(context.site), budget, context.isEngageEvent);
  if (uuid === null && !isUuidAbsent) return refuse('uuid_invalid');
  const distinctId = isAbsent(sentDistinctId) ? null : readShortText(sentDistinctId);
  if (distinctId === null && !isAbsent(sentDistinctId)) return refuse('distinct_id_invalid');
  const time = readTimestamp(sent['timestamp'], context, sentAtOf(sent, context));
  if (!time.ok) return time;
  if (isBeyondKept(time.timestamp, context)) return refuse('timestamp_not_kept');
  if (!isAbsentOrObject(sent['properties'])) return refuse('properties_not_object');
  const properties = objectOr(sent['properties']);
  const source = readActionSource(properties, context.caller);
  if (source === null) return refuse('action_source_unknown');
  const { timestamp, original: originalTimestamp, warning: timeWarning } = time;
  const sentTimestamp = timeWarning === 'timestamp_invalid' ? null : writtenTime(sent['timestamp']);
  const { actionSource, isStated: isSourceStated } = source;
  const visitor = visitorIds(name.name, distinctId, properties, context);
  const hasPlaceholder = visitor.hasPlaceholder || (isUuidAbsent && !isAbsent(sentUuid));
  const hasLongId = isReplaced(sentUuid, sent['uuid']) || isReplaced(sentDistinctId, sent['distinct_id']);
  const ids = { name: name.name, uuid, ...visitor, hasPlaceholder, hasLongId };
  const times = { timestamp, originalTimestamp, timeWarning, sentTimestamp };
  return { ok: true, event: { ...ids, ...times, actionSource, isSourceStated, properties, countries } };
}

const DAY_MS = 86_400_000;

/** What a site wants gone after so many days is not brought back. Of other events the age counts from when they came. */
function isBeyondKept(timestamp: number, { isHistorical = false, receivedAtMs, site }: IntakeContext): boolean {
  return isHistorical && typeof site.event_days === 'number' && receivedAtMs - timestamp > site.event_days * DAY_MS;
}

/**
 * The ids that say something. Where the visitor's own is a placeholder it is as if none had been sent, and the browser's
 * id beside it stands for the visitor.
 */
function visitorIds(
  name: string,
  sent: string | null,
  properties: JsonObject,
  context: IntakeContext,
): Pick<SentEvent, 'distinctId' | 'previousId' | 'hasPlaceholder'> {
  const sentPrevious = readPreviousId(name, properties, context);
  const isPlaceholder = sent !== null && isPlaceholderId(sent);
  const hasPlaceholder = isPlaceholder || (sentPrevious !== null && isPlaceholderId(sentPrevious));
  const previous = sentPrevious === null || isNobodysId(sentPrevious) ? null : sentPrevious;
  if (isPlaceholder && isBrowsersOwn(name)) return { distinctId: previous, previousId: null, hasPlaceholder };
  const distinctId = sent === null || isNobodysId(sent) ? null : sent;
  const previousId = distinctId === null || previous === distinctId ? null : previous;
  return { distinctId, previousId, hasPlaceholder };
}

/** An id of an event that many have would leave the first of them alone: it is as if none had been sent. */
function isPlaceholderText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && isPlaceholderId(value);
}

/**
 * The id of another product's call as it may be one here. What is longer, or holds control characters, becomes a keyed hash: these
 * products take such events (PostHog's ids are cut at 200 characters there), and their libraries are told of none that is not.
 */
function shortId(sent: unknown, { isCrossOrigin = false, identitySecret }: IntakeContext): unknown {
  if (!isCrossOrigin || typeof sent !== 'string' || readShortText(sent) !== null) return sent;
  return longId(sent, identitySecret);
}

/** What stands for an id that is too long for one, or holds control characters; null where nothing is in it. A placeholder stays one. */
export function longId(sent: string, secret: Buffer): string | null {
  const printed = sent.replace(CONTROL_CHARACTERS, '').trim();
  if (printed === '') return null;
  return isNobodysId(printed) ? printed : pseudonym(sent.trim(), secret);
}

const isReplaced = (id: unknown, sent: unknown): boolean => id !== sent && !isAbsent(id);

const NAME_CHARACTERS_MAX = 200;

/** The name of another product's event, on one line and cut; without personal text before that, as half an address is not found. */
function foreignName(sent: unknown, countries: readonly string[], budget?: WorkBudget): unknown {
  if (typeof sent === 'number') return String(sent);
  if (typeof sent !== 'string' || readShortText(sent) !== null) return sent;
  const name = sent.replace(CONTROL_CHARACTERS, ' ').trim();
  return name === '' ? sent : redactText(name, false, countries, budget).slice(0, NAME_CHARACTERS_MAX);
}

/** Of another product's call its own word, which was put there with the call (`clockOf`); of ours that of the request. */
function sentAtOf(sent: JsonObject, { isCrossOrigin = false, sentAtMs = null }: IntakeContext): number | null {
  if (!isCrossOrigin) return sentAtMs;
  return typeof sent['sent_at'] === 'number' ? sent['sent_at'] : null;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function refuse(code: RejectionCode): SentEventOutcome {
  return { ok: false, code };
}

type Properties = Readonly<Record<string, unknown>>;

const isActionSource = (value: unknown): value is ActionSource =>
  (ACTION_SOURCES as readonly unknown[]).includes(value);

/** What an event says of where it happened, or what follows from who sent it. */
interface ActionSourceInput {
  actionSource: ActionSource;
  /** Whether the event says it itself. */
  isStated: boolean;
}

/**
 * The event's action source; null when it is none of the six. Where none was sent it is `website`, but for an event that a
 * server's library made by itself: of no page and no shopper's device there is nothing that happened on a website.
 */
function readActionSource(properties: Properties, caller: Caller): ActionSourceInput | null {
  const sent = own(properties, '$action_source');
  if (sent === undefined || sent === null) return { actionSource: unstatedSource(properties, caller), isStated: false };
  return isActionSource(sent) ? { actionSource: sent, isStated: true } : null;
}

function unstatedSource(properties: Properties, caller: Caller): ActionSource {
  const isOfServer = caller === 'server' && saysServer(properties) && !hasAddress(properties);
  return isOfServer ? 'system_generated' : 'website';
}

/** Where destinations find the address of a page, there is one. */
function hasAddress(properties: Properties): boolean {
  return ADDRESSES.some((name) => isGiven(properties, name)) || pageUrl(properties) !== null;
}

/** Properties that name a page or the device of a shopper, in the words of Segment's, PostHog's and our own senders. */
const ADDRESSES = [
  'url page_url page_location $current_url',
  'client_ip_address client_user_agent $ip ip $raw_user_agent $user_agent',
].flatMap((names) => names.split(' '));

/** Names of Segment's, RudderStack's and PostHog's libraries for servers. */
const SERVER_LIBRARY = new RegExp(
  [
    '^(?:@segment/)?analytics-(?:node|python|ruby|go|java|php|net|csharp|\\.net|rust|clojure)\\b',
    '^@?rudder(?:stack)?[-/.].*\\b(?:node|python|ruby|go|java|php|net|rust)\\b',
    '^rudder-analytics-(?:node|python|ruby|go|java|php)\\b',
    '^posthog-(?:node|python|ruby|go|java|php|dotnet|elixir|rs|rust|server)\\b',
  ].join('|'),
  'i',
);

function saysServer(properties: Properties): boolean {
  if (own(properties, '$is_server') === true) return true;
  const library = own(properties, '$lib');
  return typeof library === 'string' && library.length <= 100 && SERVER_LIBRARY.test(library);
}

function isGiven(properties: Properties, name: string): boolean {
  const value = own(properties, name);
  return value !== undefined && value !== null && value !== '';
}

/** The property that has the visitor's other id: PostHog's words. GA4's hits say theirs with events of any name. */
const PROPERTY = '$anon_distinct_id';
const PROPERTY_OF: ReadonlyMap<string, string> = new Map([
  ['$create_alias', 'alias'],
  ['$merge_dangerously', 'alias'],
]);

/** The other id of the visitor as it was sent; null where the event names none. */
function readPreviousId(name: string, properties: JsonObject, context: IntakeContext): string | null {
  const property = PROPERTY_OF.get(name) ?? PROPERTY;
  const sent = Object.hasOwn(properties, property) ? properties[property] : null;
  return readShortText(typeof sent === 'number' && Number.isFinite(sent) ? numberId(sent) : shortId(sent, context));
}

/** Whether the other id of an event of this name is one that its browser had before, rather than somebody else's. */
function isBrowsersOwn(name: string): boolean {
  return !PROPERTY_OF.has(name);
}
