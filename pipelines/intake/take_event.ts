import { cleanProperties, type JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { startEvent } from '#pipelines/privacy/effort.ts';
import type { Found } from '#pipelines/privacy/found.ts';
import { isRounded } from '#pipelines/privacy/placeholder_id.ts';
import { isReachableAddress } from '#pipelines/privacy/reachable_address.ts';
import type { Event } from '#schemas/event.ts';
import { isBot } from './bots.ts';
import { type Columns, readColumns } from './columns.ts';
import { cleanDistinctId } from './distinct_id.ts';
import { idCountries } from './event_countries.ts';
import { eventIdOf } from './event_id.ts';
import { cleanEventName } from './event_name.ts';
import { isIdentifyName } from './identify_events.ts';
import type { Call, Device, DropReason, EventWarning, IntakeContext, SentEvent } from './intake_types.ts';
import { propertiesText } from './properties_text.ts';
import { REJECTIONS, type RejectionCode } from './rejections.ts';
import { readSentEvent } from './sent_event.ts';
import { type Visitor, visitorOf } from './visitor.ts';

export type EventOutcome =
  | { kind: 'taken'; event: Event; warnings: readonly EventWarning[] }
  | { kind: 'rejected'; code: RejectionCode; message: string }
  | { kind: 'dropped'; reason: DropReason };

/** Takes one event of a request: checks it, cleans its properties, and fills in what was left to defaults. */
export function takeEvent(sent: unknown, call: Call): EventOutcome {
  if (call.dropAll !== null) return { kind: 'dropped', reason: call.dropAll };
  startEvent(call.effort);
  const read = readSentEvent(sent, call.context, call.countries, call.effort);
  if (!read.ok) return reject(read.code);
  const { countries, name } = read.event;
  const isForServers = call.rules.serverOnlyNames.size > 0 && isIdentifyName(call.rules.serverOnlyNames, name);
  if (isForServers && call.context.caller === 'browser') return reject('event_server_only');
  const columns = readColumns(
    read.event.properties,
    call.context.identitySecret,
    idCountries(call.context.site),
    call.effort,
  );
  const cleaned = cleanProperties(withPrivacyControl(read.event.properties, call.context), {
    anonymous: call.context.site.mode === 'offline',
    defaultCountry: call.context.site.default_country,
    countries,
    effort: call.effort,
    lifted: columns.lifted,
  });
  if (!cleaned.ok) return reject(cleaned.problem);
  return judgeEvent({ ...cleaned, sent: read.event, columns }, call);
}

/** What a browser's header asks holds whatever its page says, and whoever wrote the page's tag. */
function withPrivacyControl(properties: JsonObject, { caller, gpc }: IntakeContext): JsonObject {
  return gpc === true && caller === 'browser' ? { ...properties, $gpc: true } : properties;
}

interface ReadEvent {
  sent: SentEvent;
  columns: Columns;
  properties: JsonObject;
  found: Found;
}

function judgeEvent(read: ReadEvent, call: Call): EventOutcome {
  const device = deviceOf(call, read.found);
  if (isRobots(read, call)) return { kind: 'dropped', reason: 'bot' };
  const visitor = visitorOf(read.sent, read.found, device, call);
  if (isBlocked(read, device, visitor, call)) return { kind: 'dropped', reason: 'blocked' };
  const event = call.context.site.mode === 'offline' ? anonymousEvent : identifiedEvent;
  return { kind: 'taken', event: event(read, device, visitor, call), warnings: warningsOf(read) };
}

function warningsOf({ sent, found }: ReadEvent): EventWarning[] {
  const hasPlaceholder = sent.hasPlaceholder || found.hasPlaceholder || isRounded(sent.properties['order_id']);
  const ofIds: EventWarning[] = hasPlaceholder ? ['placeholder_id'] : [];
  return sent.timeWarning === null ? ofIds : [...ofIds, sent.timeWarning];
}

/** Only a server may say whose device it reports for; of a browser the peer is the device. */
function deviceOf({ context, peer }: Call, { client_ip, client_user_agent }: Found): Device {
  if (context.caller === 'browser' || (client_ip === null && client_user_agent === null)) return peer;
  return { ip: client_ip ?? peer.ip, userAgent: client_user_agent ?? peer.userAgent };
}

function isRobots({ sent, found }: ReadEvent, { context }: Call): boolean {
  if (hasWebdriver(sent.properties)) return true;
  if (context.caller === 'browser' || found.client_user_agent === null) return false;
  return isBot(sent.actionSource === 'website' ? 'shopper' : 'server', found.client_user_agent);
}

/** `navigator.webdriver` is true in a browser that a program drives. */
function hasWebdriver(properties: JsonObject): boolean {
  if (isTrue(properties, 'webdriver') || isTrue(properties, '$webdriver')) return true;
  if (isTrue(properties, 'navigator.webdriver')) return true;
  const navigator = Object.hasOwn(properties, 'navigator') ? properties['navigator'] : null;
  return typeof navigator === 'object' && navigator !== null && isTrue(navigator as JsonObject, 'webdriver');
}

function isTrue(object: JsonObject, key: string): boolean {
  return object[key] === true && Object.hasOwn(object, key);
}

function isBlocked(read: ReadEvent, device: Device, visitor: Visitor, { context, rules }: Call): boolean {
  if (rules.blocks.length === 0) return false;
  const facts = {
    clientIp: device.ip,
    userAgent: device.userAgent,
    country: (context.caller === 'browser' ? context.country : null) ?? read.found.country,
    event: read.sent.name,
    distinctIds: [read.sent.distinctId, visitor.distinctId],
    properties: read.sent.properties,
  };
  return rules.blocks.some((blocks) => blocks(facts));
}

function identifiedEvent(read: ReadEvent, device: Device, visitor: Visitor, call: Call): Event {
  const { sent, columns, found } = read;
  const { context, rules } = call;
  return {
    site_id: context.site.site_id,
    event_id: eventIdOf(sent, device, call),
    distinct_id: visitor.distinctId,
    received_at: context.receivedAtMs,
    event: cleanEventName(sent.name, context.identitySecret, sent.countries, call.effort),
    timestamp: sent.timestamp,
    original_timestamp: sent.originalTimestamp,
    mode: context.site.mode,
    action_source: sent.actionSource,
    caller: context.caller,
    identify: isOfflineReport(sent) || isIdentifyName(rules.identifyNames, sent.name),
    identifiers: visitor.identifiers,
    city: found.city,
    state: found.state,
    zip: found.zip,
    country: found.country ?? (context.caller === 'browser' ? context.country : null),
    client_ip: addressOf(device, call),
    client_user_agent: device.userAgent,
    // Gone from the properties where it was what somebody wrote into a form's field for a phone number.
    value: Object.hasOwn(read.properties, 'value') ? columns.value : null,
    currency: columns.currency,
    order_id: columns.order_id,
    properties: propertiesText(read.properties),
    previous_distinct_id: previousIdOf(sent, call),
    key_id: context.keyId,
    ...(found.further.length === 0 ? {} : { further_identifiers: found.further }),
  };
}

/** The other id of the visitor, as it may be stored. */
function previousIdOf({ previousId }: SentEvent, { context: { identitySecret, site }, effort }: Call): string | null {
  return previousId === null ? null : cleanDistinctId(previousId, identitySecret, site, effort).distinctId;
}

/** An event that says itself that it happened elsewhere than on a website: a report of somebody known by name. */
function isOfflineReport({ actionSource, isSourceStated }: SentEvent): boolean {
  return isSourceStated && actionSource !== 'website';
}

/** An address that a server reports and that is nobody's on the internet gives way to the server's own (SPEC 2.2). */
function addressOf(device: Device, { peer }: Call): string | null {
  if (device.ip === null || peer.ip === null || isReachableAddress(device.ip)) return device.ip;
  return isReachableAddress(peer.ip) ? peer.ip : device.ip;
}

/** Of an offline-mode site's event nothing is kept that says who it was, and it stitches nothing. */
function anonymousEvent(read: ReadEvent, device: Device, visitor: Visitor, call: Call): Event {
  const event = identifiedEvent(read, device, visitor, call);
  event.identify = false;
  event.city = null;
  event.zip = null;
  event.client_ip = null;
  event.client_user_agent = null;
  event.previous_distinct_id = null;
  return event;
}

function reject(code: RejectionCode): EventOutcome {
  return { kind: 'rejected', code, message: REJECTIONS[code] };
}
