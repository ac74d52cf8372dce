// From the body of a request to events as they are stored.
import { consentState, declaredConsent, readConsent } from '#pipelines/events/consent.ts';
import { cleanProperties, type JsonObject } from '#pipelines/privacy/clean_properties.ts';
import type { Found } from '#pipelines/privacy/collect_identifiers.ts';
import { isReachableAddress } from '#pipelines/privacy/ip_addresses.ts';
import { startEvent, type WorkBudget } from '#pipelines/privacy/normalise_text.ts';
import { isRounded } from '#pipelines/privacy/placeholder_ids.ts';
import type { Event } from '#schemas/event.ts';
import {
  beginRequest,
  browserCountry,
  cleanDistinctId,
  customerOf,
  type Device,
  type DropReason,
  type EventWarning,
  type IntakeContext,
  type IntakeRequest,
  idCountries,
  isBot,
  type SentEvent,
  type Visitor,
  visitorOf,
} from './call.ts';
import { eventIdOf, isIndistinct } from './event_id.ts';
import { ScannedEvent } from './fast_path/scan_body.ts';
import { takeScanned } from './fast_path/take_scanned.ts';
import {
  type Columns,
  cleanEventName,
  propertiesText,
  REJECTIONS,
  type RejectionCode,
  readColumns,
} from './field_rules.ts';
import { readSentEvent } from './sent_event.ts';
import { isAny, isForServers, isIdentifyName } from './site_rules.ts';
import { readSentAt } from './timestamp.ts';

export type Rejection = { index: number; code: RejectionCode; message: string };
type Drop = { index: number; reason: DropReason };
type Warned = { index: number; code: EventWarning };
export interface ProcessedBatch {
  taken: Event[];
  rejected: Rejection[];
  dropped: Drop[];
  /** Of those that were taken. */
  warned: Warned[];
  /** What it cost, in the steps of `WorkBudget`, with one for each value. */
  steps: number;
}

/** The turns of the event loop in which long work is done. */
export interface Yielder {
  /** Whether this turn has lasted so long that others wait. */
  isOver(): boolean;
  /** Resolves in the next one. */
  next(): Promise<void>;
}

/**
 * Turns the events of one request into events ready for encoding, without any raw e-mail address, phone number or
 * name. Each event is taken, rejected (it was malformed) or dropped (a robot's, or blocked by the site); `index` is its
 * place in the request.
 */
export function processBatch(events: readonly unknown[], context: IntakeContext): ProcessedBatch {
  const call = beginRequest(context, events.length);
  const batch = emptyBatch();
  for (let index = 0; index < events.length; index += 1) takeOne(events, index, call, batch);
  return { ...batch, steps: stepsOf(call.budget) };
}

/** The same in several turns of the event loop where it is long: one ends with the event in which it is over. */
export async function processBatchInSlices(
  events: readonly unknown[],
  context: IntakeContext,
  turns: Yielder,
): Promise<ProcessedBatch> {
  const call = beginRequest(context, events.length);
  const batch = emptyBatch();
  for (let index = 0; index < events.length; index += 1) {
    if (turns.isOver()) await turns.next();
    takeOne(events, index, call, batch);
  }
  return { ...batch, steps: stepsOf(call.budget) };
}

const stepsOf = ({ made, walked }: WorkBudget): number => made.steps + walked.values;

function emptyBatch(): ProcessedBatch {
  return { taken: [], rejected: [], dropped: [], warned: [], steps: 0 };
}

function takeOne(events: readonly unknown[], index: number, call: IntakeRequest, batch: ProcessedBatch): void {
  const outcome = processEvent(events[index], call);
  switch (outcome.kind) {
    case 'taken':
      batch.taken.push(outcome.event);
      for (const code of outcome.warnings) batch.warned.push({ index, code });
      break;
    case 'rejected':
      batch.rejected.push({ index, code: outcome.code, message: outcome.message });
      break;
    case 'dropped':
      batch.dropped.push({ index, reason: outcome.reason });
      break;
  }
}

type EventOutcome =
  | { kind: 'taken'; event: Event; warnings: readonly EventWarning[] }
  | { kind: 'rejected'; code: RejectionCode; message: string }
  | { kind: 'dropped'; reason: DropReason };

/** Takes one event of a request: checks it, cleans its properties, and fills in what was left to defaults. */
function processEvent(sent: unknown, call: IntakeRequest): EventOutcome {
  if (call.dropAll !== null) return { kind: 'dropped', reason: call.dropAll };
  startEvent(call.budget);
  if (sent instanceof ScannedEvent) return takeScanned(sent, call) ?? processParsed(sent.parsed(), call);
  return processParsed(sent, call);
}

function processParsed(sent: unknown, call: IntakeRequest): EventOutcome {
  const read = readSentEvent(sent, call.context, call.countries, call.budget);
  if (!read.ok) return reject(read.code);
  const { countries, name } = read.event;
  if (isForServers(call.rules, name, call.context.caller)) return reject('event_server_only');
  const columns = readColumns(
    read.event.properties,
    call.context.identitySecret,
    idCountries(call.context.site),
    call.budget,
  );
  const cleaned = cleanProperties(withPrivacyControl(read.event.properties, call.context), {
    anonymous: call.context.site.mode === 'offline',
    defaultCountry: call.context.site.default_country,
    countries,
    budget: call.budget,
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

function judgeEvent(read: ReadEvent, call: IntakeRequest): EventOutcome {
  const device = deviceOf(call, read.found);
  if (call.context.isHistorical === true && isNobodys(read)) return reject('distinct_id_missing');
  if (isRobots(read, call)) return { kind: 'dropped', reason: 'bot' };
  const visitor = visitorOf(read.sent, read.found, device, call);
  if (isBlocked(read, device, visitor, call)) return { kind: 'dropped', reason: 'blocked' };
  const event = call.context.site.mode === 'offline' ? anonymousEvent : identifiedEvent;
  return { kind: 'taken', event: event(read, device, visitor, call), warnings: warningsOf(read) };
}

/** By the address of who brings it in all such events would be one visitor's, and another one's each day. */
function isNobodys({ sent, found: { identifiers } }: ReadEvent): boolean {
  return sent.distinctId === null && customerOf(identifiers) === null;
}

function warningsOf({ sent, found, columns }: ReadEvent): EventWarning[] {
  const hasPlaceholder = sent.hasPlaceholder || found.hasPlaceholder || isRounded(sent.properties['order_id']);
  const warnings: EventWarning[] = hasPlaceholder ? ['placeholder_id'] : [];
  if (sent.hasLongId) warnings.push('id_too_long');
  if (isIndistinct(sent, found, columns.order_id)) warnings.push('uuid_missing');
  if (sent.timeWarning !== null) warnings.push(sent.timeWarning);
  return warnings;
}

/** Only a server may say whose device it reports for; of a browser the peer is the device. */
function deviceOf({ context, peer }: IntakeRequest, { client_ip, client_user_agent }: Found): Device {
  if (context.caller === 'browser' || (client_ip === null && client_user_agent === null)) return peer;
  return { ip: client_ip ?? peer.ip, userAgent: client_user_agent ?? peer.userAgent };
}

function isRobots({ sent, found }: ReadEvent, { context }: IntakeRequest): boolean {
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

function isBlocked(read: ReadEvent, device: Device, visitor: Visitor, { context, rules }: IntakeRequest): boolean {
  const { blocks } = rules;
  if (blocks === null) return false;
  const { name, distinctId, properties } = read.sent;
  const country = browserCountry(context) ?? read.found.country;
  return (
    isAny(blocks.devices, { clientIp: device.ip, userAgent: device.userAgent, country }) ||
    isAny(blocks.names, name) ||
    blocks.distinctIds.has(visitor.distinctId) ||
    (distinctId !== null && blocks.distinctIds.has(distinctId)) ||
    isAny(blocks.properties, properties)
  );
}

function identifiedEvent(read: ReadEvent, device: Device, visitor: Visitor, call: IntakeRequest): Event {
  const { sent, columns, found } = read;
  const { context, rules } = call;
  const country = found.country ?? browserCountry(context);
  return {
    site_id: context.site.site_id,
    event_id: eventIdOf(sent, device, isIndistinct(sent, found, columns.order_id), call),
    distinct_id: visitor.distinctId,
    received_at: context.receivedAtMs,
    event: cleanEventName(sent.name, context.identitySecret, sent.countries, call.budget),
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
    country,
    client_ip: addressOf(device, call),
    client_user_agent: device.userAgent,
    // Gone from the properties where it was what somebody wrote into a form's field for a phone number.
    value: Object.hasOwn(read.properties, 'value') ? columns.value : null,
    currency: columns.currency,
    order_id: columns.order_id,
    properties: propertiesText(read.properties),
    previous_distinct_id: previousIdOf(sent, call),
    key_id: context.keyId,
    consent: consentState(readConsent(read.properties), declaredConsent(context.site, country)),
    ...(found.further.length === 0 ? {} : { further_identifiers: found.further }),
    ...(context.isHistorical === true ? { historical: true } : {}),
  };
}

function previousIdOf(
  { previousId }: SentEvent,
  { context: { identitySecret, site }, budget }: IntakeRequest,
): string | null {
  return previousId === null ? null : cleanDistinctId(previousId, identitySecret, site, budget).distinctId;
}

/** An event that says itself that it happened elsewhere than on a website: a report of somebody known by name. */
function isOfflineReport({ actionSource, isSourceStated }: SentEvent): boolean {
  return isSourceStated && actionSource !== 'website';
}

/** An address that a server reports and that is nobody's on the internet gives way to the server's own. */
function addressOf(device: Device, { peer }: IntakeRequest): string | null {
  if (device === peer || device.ip === null || peer.ip === null || isReachableAddress(device.ip)) return device.ip;
  return isReachableAddress(peer.ip) ? peer.ip : device.ip;
}

/** Of an offline-mode site's event nothing is kept that says who it was, and it stitches nothing. */
function anonymousEvent(read: ReadEvent, device: Device, visitor: Visitor, call: IntakeRequest): Event {
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

type Envelope =
  | { ok: true; events: unknown[]; sentAtMs: number | null; historical: unknown }
  | { ok: false; status: 400 | 413; code: RejectionCode; message: string };

/**
 * Reads the request body of POST /v1/ingest, `{ events: [Event, ...] }` with 1 to `eventsMax` events, and beside them `sent_at`
 * where its sender says when that was, and `historical_migration`, as it was sent.
 */
export function readEnvelope(body: unknown, eventsMax: number): Envelope {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return refuse(400, 'body_not_object');
  if (!Object.hasOwn(body, 'events')) return refuse(400, 'events_missing');
  const { events, sent_at: sentAt } = body as { events: unknown; sent_at?: unknown };
  const historical = Object.hasOwn(body, 'historical_migration') ? (body as JsonObject)['historical_migration'] : false;
  if (!Array.isArray(events)) return refuse(400, 'events_not_array');
  if (events.length === 0) return refuse(400, 'events_empty');
  return events.length > eventsMax
    ? refuse(413, 'events_too_many')
    : { ok: true, events, sentAtMs: readSentAt(sentAt), historical };
}

function refuse(status: 400 | 413, code: RejectionCode): Envelope {
  return { ok: false, status, code, message: REJECTIONS[code] };
}
