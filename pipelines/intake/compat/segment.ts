// Calls of Segment's HTTP API as events.

import { DESTINATIONS_PROPERTY, excludesDestination, readFlag, unwrapped } from '#pipelines/events/vocabulary.ts';
import { firstGiven, isAbsentOrObject, objectOr } from '#pipelines/intake/json_text.ts';
import { isObject, type JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { isNobodysId } from '#pipelines/privacy/placeholder_ids.ts';
import { readSentAt } from '../timestamp.ts';
import { type Arrival, clockOf, given, idText, type MappedCall } from './mapped_call.ts';

/** The calls of Segment's HTTP Tracking API, by the path each has of its own. */
export const SEGMENT_CALLS = ['track', 'identify', 'page', 'screen', 'group', 'alias'] as const;
export type SegmentCall = (typeof SEGMENT_CALLS)[number];

/** Members of a context that are read into properties of their own. */
const READ_FROM_CONTEXT = new Set(['page', 'campaign', 'library', 'ip', 'userAgent', 'traits']);

/**
 * Maps one call of Segment's specification. `messageId` becomes the uuid, `userId`, else `anonymousId`, the
 * distinct_id; the user's id is also the customer number by which people are joined. Traits go where a person's record
 * is looked for, never among the event's own properties. An identify of both ids says the anonymous one as PostHog's does.
 *
 * @param type The call's type where its path says it; a call of a batch says it itself.
 * @param ofBatch Where the calls of its batch may go, unless the call says it itself.
 */
export function mapSegmentCall(
  sent: unknown,
  type: SegmentCall | null,
  arrival: Arrival,
  ofBatch: DestinationFlags = {},
): MappedCall {
  if (!isObject(sent)) return { ok: true, event: sent };
  const kind = type ?? sent['type'];
  if (!isSegmentCall(kind)) return { ok: false, code: 'call_type_unknown' };
  const userId = firstGiven(idText(sent['userId']));
  const anonymousId = idText(sent['anonymousId']);
  const shared = {
    uuid: firstGiven(idText(sent['messageId'])),
    distinct_id: firstGiven(...[userId, anonymousId].filter(isSomebodys), userId, anonymousId),
    ...happened(sent, arrival),
  };
  const properties = propertiesOf(kind, sent, contextProperties(sent), userId);
  const flags = { ...ofBatch, ...destinationFlags(sent['integrations']) };
  return {
    ok: true,
    event: {
      ...shared,
      event: kind === 'track' ? sent['event'] : NAMES[kind],
      properties: withFlags(properties, flags),
    },
  };
}

/** A call of a batch with the batch's context, whose members the call's own replace (Segment's page of its HTTP API, "Batch"). */
export function withContext(sent: unknown, ofBatch: unknown): unknown {
  const shared = contextOf(ofBatch);
  if (!isObject(sent) || Object.keys(shared).length === 0) return sent;
  return { ...sent, context: mergedContext(shared, contextOf(sent['context'])) };
}

/** A context that was sent as JSON in a text may hold a refusal as well. */
export const contextOf = (sent: unknown): JsonObject => objectOr(unwrapped(sent));

/** Deeper than this nothing is merged; properties may not be as deep. */
const CONTEXT_DEPTH_MAX = 16;

/** Of two contexts each member that is there; what both have is the own one's, object by object. */
function mergedContext(shared: JsonObject, own: JsonObject, depth = 1): JsonObject {
  const members = Object.entries(own).map(([name, value]) => {
    const other = Object.hasOwn(shared, name) ? shared[name] : undefined;
    const isMerged = isObject(other) && isObject(value) && depth < CONTEXT_DEPTH_MAX;
    return [name, isMerged ? mergedContext(other, value, depth + 1) : (value ?? other)] as const;
  });
  return { ...shared, ...Object.fromEntries(members) };
}

/** The event's own properties replace what its context says, but for a `context` among them, which is merged: either may refuse. */
function withOwn(shared: JsonObject, own: JsonObject): JsonObject {
  const { context } = shared;
  if (!isObject(context) || own['context'] === undefined) return { ...shared, ...own };
  return { ...shared, ...own, context: mergedContext(context, contextOf(own['context'])) };
}

/** Where nothing is kept from anywhere there is nothing to say. What the event says itself keeps it back as well. */
function withFlags(properties: unknown, flags: DestinationFlags): unknown {
  if (!isObject(properties) || !Object.values(flags).includes(false)) return properties;
  const own = unwrapped(properties[DESTINATIONS_PROPERTY]);
  // Before a `-` of a destination's name stands its kind.
  const isKept = (said: unknown, name: string): boolean =>
    excludesDestination({ [DESTINATIONS_PROPERTY]: said }, name, name.split('-', 1)[0]);
  if (!isObject(own)) return isKept(own, 'all') ? properties : { ...properties, [DESTINATIONS_PROPERTY]: flags };
  const names = new Set([...Object.keys(own), ...Object.keys(flags)]);
  const both = [...names].map((name) => [name, !isKept(own, name) && !isKept(flags, name)] as const);
  return { ...properties, [DESTINATIONS_PROPERTY]: Object.fromEntries(both) };
}

/** A placeholder gives way to the other id, and stands as the user's only where it is counted. */
function isSomebodys(id: unknown): boolean {
  return typeof id !== 'string' || !isNobodysId(id);
}

function isSegmentCall(kind: unknown): kind is SegmentCall {
  return (SEGMENT_CALLS as readonly unknown[]).includes(kind);
}

/** What the calls are called that do not say it themselves. */
const NAMES: Readonly<Record<Exclude<SegmentCall, 'track'>, string>> = {
  identify: '$identify',
  page: 'page_view',
  screen: 'screen_view',
  group: '$groupidentify',
  alias: '$create_alias',
};

function propertiesOf(kind: SegmentCall, sent: JsonObject, context: JsonObject, userId: unknown): unknown {
  const { properties, traits } = sent;
  const joined = { ...context, ...given({ external_id: userId }) };
  switch (kind) {
    case 'track':
      return isAbsentOrObject(properties) ? withOwn(joined, withValue(objectOr(properties))) : properties;
    case 'page':
    case 'screen':
      if (!isAbsentOrObject(properties)) return properties;
      return withOwn({ ...joined, ...given({ name: sent['name'], category: sent['category'] }) }, objectOr(properties));
    case 'identify':
      return {
        ...joined,
        ...(userId === undefined ? {} : given({ $anon_distinct_id: idText(sent['anonymousId']) })),
        $set: { ...objectOr(joined['$set']), ...objectOr(traits) },
      };
    case 'group':
      return {
        ...joined,
        $group_type: 'group',
        ...given({
          $group_key: idText(sent['groupId']),
          $group_set: isAbsentOrObject(traits) ? objectOr(traits) : traits,
        }),
      };
    case 'alias':
      return { ...joined, ...given({ alias: idText(sent['previousId']) }) };
  }
}

/** Segment's e-commerce specification calls the amount `revenue`, and `total` with tax and shipping. */
function withValue(properties: JsonObject): JsonObject {
  const value = firstGiven(properties['value'], properties['revenue'], properties['total']);
  return value === undefined ? properties : { ...properties, value };
}

/**
 * RudderStack's libraries write the time of the call into `originalTimestamp`; a `timestamp` beside it that says another
 * time was given by whoever made the call, or has been corrected already, and wins. A call without an id of its own is
 * recognised by what it says, the time included, so that is left as it is.
 */
function happened(sent: JsonObject, arrival: Arrival): JsonObject {
  const given = firstGiven(sent['timestamp']);
  const called = firstGiven(sent['originalTimestamp']);
  const isGivenApart = given !== undefined && called !== undefined && given !== called;
  if (isGivenApart || firstGiven(sent['messageId']) === undefined) return { timestamp: given ?? called };
  const sentAtMs = readSentAt(sent['sentAt']) ?? arrival.sentAtMs;
  return { timestamp: given ?? called, ...clockOf({ ...arrival, sentAtMs }) };
}

/** The campaign under the names of the parameters that libraries make it of: `utm_` and the member, but of its name. */
function campaignProperties(campaign: JsonObject): JsonObject {
  const members = Object.entries(campaign).filter(([name]) => /^\w{1,60}$/.test(name));
  return Object.fromEntries(members.map(([name, value]) => [name === 'name' ? 'utm_campaign' : `utm_${name}`, value]));
}

/**
 * The context as properties: what it says of the page (RudderStack's libraries also who referred the visitor first) by itself, the
 * campaign under the names other tags use, the rest as it is.
 */
function contextProperties(sent: JsonObject): JsonObject {
  const context = contextOf(sent['context']);
  const library = objectOr(context['library']);
  const rest = Object.entries(context).filter(([name]) => !READ_FROM_CONTEXT.has(name));
  return given({
    ...objectOr(context['page']),
    ...campaignProperties(objectOr(context['campaign'])),
    $lib: library['name'],
    $lib_version: library['version'],
    client_ip_address: context['ip'],
    client_user_agent: context['userAgent'],
    $set: isObject(context['traits']) ? context['traits'] : undefined,
    context: rest.length === 0 ? undefined : Object.fromEntries(rest),
  });
}

/** Which destinations a call may go to, by our names, and `all` for those that it does not name. */
type DestinationFlags = Readonly<Record<string, boolean>>;

/**
 * What Segment and RudderStack call the destinations that we have, as words of their names without case and separators. A name
 * stands for the platform, whichever of its products it is (`Facebook Pixel`, `Facebook Conversions API (Actions)`): who keeps
 * an event from one of them does not expect it at the other.
 */
const PLATFORMS: readonly (readonly [RegExp, string])[] = [
  [/^all$/, 'all'],
  [/facebook|^meta(?:$|ads|pixel|capi|conversion)|^fb(?:pixel|capi)/, 'meta'],
  [/tiktok/, 'tiktok'],
  [/googleanalytics|^ga4/, 'ga4'],
  [/^google(?:$|ads|adwords|enhanced|datamanager)|adwords/, 'google'],
  [/linkedin/, 'linkedin'],
  [/pinterest/, 'pinterest'],
  [/reddit/, 'reddit'],
  [/^snap(?:$|chat|ads|pixel|conversion)/, 'snapchat'],
  [/posthog/, 'posthog'],
  [/^webhooks?/, 'webhook'],
];
const NAMES_MAX = 200;
const NAME_CHARACTERS_MAX = 100;

/**
 * What the object `integrations` of a call says of our destinations: `false` keeps it from one, anything else, such as options,
 * lets it go there. Of several names of one platform a no holds. Where it cannot be read, or has more names than are, it keeps the
 * call from all that it does not name.
 */
export function destinationFlags(integrations: unknown): DestinationFlags {
  const flags: Record<string, boolean> = {};
  const said = unwrapped(integrations);
  if (!isObject(said)) return ['yes', 'absent'].includes(readFlag(said)) ? flags : { all: false };
  const names = Object.entries(said);
  for (const [name, value] of names.slice(0, NAMES_MAX)) {
    const folded = name
      .slice(0, NAME_CHARACTERS_MAX)
      .toLowerCase()
      .replace(/[^a-z0-9]/g, '');
    const flag = readFlag(value);
    const destination = PLATFORMS.find(([words]) => words.test(folded))?.[1];
    if (destination !== undefined && flag !== 'absent')
      flags[destination] = flag !== 'no' && flags[destination] !== false;
  }
  return names.length > NAMES_MAX ? { ...flags, all: false } : flags;
}
