// What the events of a request share, and who an event is of.
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { cleanUserAgent, type Found, recipientsKinds } from '#pipelines/privacy/collect_identifiers.ts';
import { allowEffort, type Effort, idEffort } from '#pipelines/privacy/effort.ts';
import {
  anonymousId,
  copyIdentifier,
  customerAnonymousId,
  noIdentifiers,
  normalisePhone,
  pseudonym,
  putIdentifier,
} from '#pipelines/privacy/hash_identifiers.ts';
import { normaliseIp } from '#pipelines/privacy/ip_addresses.ts';
import { EVERYTHING, normaliseEmail, plainText, REDACTED } from '#pipelines/privacy/normalise_text.ts';
import { holdsPersonalText, redactText } from '#pipelines/privacy/redact_text.ts';
import type { ActionSource, Identifiers } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import { isBot } from './bots.ts';
import { type SiteRules, siteRules } from './site_rules.ts';
import type { TimedRequest, TimeWarning } from './timestamp.ts';

/** What the edge knows of a request besides its body. */
export interface IntakeContext extends TimedRequest {
  site: Site;
  /** Of the key that the request came with. */
  keyId: string;
  /** The peer's address after trusted proxies, never from properties. */
  clientIp: string | null;
  userAgent: string | null;
  /** Whether any of Origin, Sec-Fetch-* or Referer was sent. */
  browserSigns: boolean;
  /** Whether prefetch or prerender headers were sent. */
  prefetch: boolean;
  /** Whether the browser asked by Global Privacy Control not to sell or share; absent: it did not. */
  gpc?: boolean;
  /** The country the edge resolved the peer to, if it can. */
  country: string | null;
  /** Today's random salt, for anonymous ids. */
  anonymousSalt: Buffer;
  /** Secret for the HMAC of ids that are e-mail addresses or phone numbers. */
  identitySecret: Buffer;
  /** A new UUIDv7. */
  randomEventId(): string;
  /** The events were made here of what visitors did with surveys, promos and forms. */
  isEngageEvent?: boolean;
}

/** Why an event does not count. */
export type DropReason = 'bot' | 'prefetch' | 'blocked';

/** What is wrong with an event that is taken all the same. */
export type EventWarning = 'placeholder_id' | TimeWarning;

/** A device that events come from. */
export interface Device {
  ip: string | null;
  userAgent: string | null;
}

/** One request, with what its events share. */
export interface Call {
  context: IntakeContext;
  rules: SiteRules;
  /** The peer, as its events may store it. */
  peer: Device;
  /** The countries whose phone numbers its texts may hold: the site's, and the peer's. */
  countries: readonly string[];
  /** What reading phone numbers may still cost. */
  effort: Effort;
  /** Why none of its events counts, or null. */
  dropAll: DropReason | null;
  /** The peer's anonymous id, once an event has asked for it. */
  peerAnonymousId: string | null;
  /** How many events of the request had the same digest. */
  occurrences: Map<string, number>;
}

/** One event as it was sent: its fields are checked, its personal data is still in it. */
export interface SentEvent {
  name: string;
  /** Lower-cased if it is a UUID, a keyed hash if it held personal text. */
  uuid: string | null;
  distinctId: string | null;
  /** The other id of the visitor that the event names. */
  previousId: string | null;
  /** Whether one of these was sent as a placeholder, and so is none. */
  hasPlaceholder: boolean;
  timestamp: number;
  originalTimestamp: string | null;
  /** Why the arrival stands for what was sent. */
  timeWarning: TimeWarning | null;
  /** The timestamp as it was written; null where it is none. */
  sentTimestamp: string | null;
  actionSource: ActionSource;
  /** Whether the event names its action source itself. */
  isSourceStated: boolean;
  properties: JsonObject;
  /** Those whose phone numbers its texts may hold. */
  countries: readonly string[];
}

const EVENTS_PER_PART = 50;

/**
 * What the events of a request share.
 *
 * @param events How many there are: as much may be done for each 50, which is what a request of ours may hold.
 */
export function openCall(context: IntakeContext, events: number): Call {
  const userAgent = context.userAgent === null ? null : cleanUserAgent(context.userAgent);
  return {
    context,
    rules: siteRules(context.site),
    peer: { ip: context.clientIp === null ? null : normaliseIp(context.clientIp), userAgent },
    countries: [context.site.default_country, context.country].filter((country) => country !== null),
    effort: allowEffort(Math.max(1, Math.ceil(events / EVENTS_PER_PART))),
    dropAll: dropAll(context),
    peerAnonymousId: null,
    occurrences: new Map(),
  };
}

function dropAll({ prefetch, caller, browserSigns, userAgent }: IntakeContext): DropReason | null {
  if (prefetch) return 'prefetch';
  return isBot(caller === 'browser' && browserSigns ? 'browser' : 'server', userAgent) ? 'bot' : null;
}

/** The anonymous id of a device; the peer's own is made once per request. */
function deviceAnonymousId(call: Call, device: Device): string {
  if (device !== call.peer) return idOf(call, device);
  call.peerAnonymousId ??= idOf(call, device);
  return call.peerAnonymousId;
}

function idOf({ context }: Call, { ip, userAgent }: Device): string {
  return anonymousId(context.anonymousSalt, context.site.site_id, ip, userAgent);
}

export interface Visitor {
  distinctId: string;
  identifiers: Identifiers | null;
}

/**
 * Who the event is about. An offline-mode site knows only the day's anonymous id. A sent id that is an e-mail address
 * or phone number is replaced, and fills the identifier where the properties had none of the visitor's own.
 */
export function visitorOf(sent: SentEvent, found: Found, device: Device, call: Call): Visitor {
  const { site, identitySecret } = call.context;
  if (site.mode === 'offline') return { distinctId: deviceAnonymousId(call, device), identifiers: null };
  if (sent.distinctId === null) return { distinctId: defaultId(found, device, call), identifiers: found.identifiers };
  const { distinctId, identifier } = cleanDistinctId(sent.distinctId, identitySecret, site, call.effort);
  if (identifier === null) return { distinctId, identifiers: found.identifiers };
  const identifiers = found.identifiers ?? noIdentifiers();
  const recipients = recipientsKinds(found);
  if (identifiers[identifier.kind] === null || recipients.includes(identifier.kind)) {
    for (const kind of recipients) copyIdentifier(identifiers, kind, noIdentifiers());
    putIdentifier(identifiers, identifier.kind, identifier.raw, { own: null, sites: site.default_country });
  }
  return { distinctId, identifiers };
}

/**
 * The anonymous id of the device; but a server's event that names its customer gets one of the customer. Else all whom a till
 * reports from one address, whom a shop behind a proxy reports under the proxy's, or who share a carrier's address and the user
 * agent of one phone's model, would be one visitor and be stitched into one person. What a browser's key says joins nobody who
 * is known.
 */
function defaultId(found: Found, device: Device, call: Call): string {
  const { email, phone, external_id } = found.identifiers ?? noIdentifiers();
  const customer = call.context.caller === 'browser' ? null : (email ?? phone ?? external_id);
  if (customer === null) return deviceAnonymousId(call, device);
  return customerAnonymousId(call.context.identitySecret, call.context.site.site_id, customer);
}

const PHONE_MARK = /^(?:tel:|\+|\(\+)/i;

interface CleanDistinctId {
  distinctId: string;
  /** What the sent id was, where it was an identifier itself. */
  identifier: { kind: 'email' | 'phone'; raw: string } | null;
}

/**
 * The distinct_id as it may be stored. One that is an e-mail address or a phone number written as one becomes `h_` and
 * the keyed hash of its normalised form, so that every spelling of it stays one visitor; one that merely holds such is
 * hashed as it stands. The site's country alone reads numbers without a country code.
 */
export function cleanDistinctId(
  sent: string,
  secret: Buffer,
  site: Pick<Site, 'default_country'>,
  effort?: Effort,
): CleanDistinctId {
  const countries = idCountries(site);
  if (!holdsPersonalText(sent, countries, idEffort(effort))) return { distinctId: sent, identifier: null };
  const plain = plainText(decoded(sent), EVERYTHING);
  const email = normaliseEmail(plain);
  if (email !== null) return { distinctId: pseudonym(email, secret), identifier: { kind: 'email', raw: email } };
  const isPhone = PHONE_MARK.test(plain) || redactText(plain, false, countries, idEffort(effort)) === REDACTED;
  const phone = isPhone ? normalisePhone(plain, site.default_country) : null;
  if (phone !== null) return { distinctId: pseudonym(phone, secret), identifier: { kind: 'phone', raw: phone } };
  return { distinctId: pseudonym(sent, secret), identifier: null };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const CODE = /^[A-Za-z]{2}$/;

/**
 * The countries by whose numbering plans ids are judged: the site's alone. The browser's copy and the server's copy of
 * an event may name different countries, or come from such, and must still have the same ids.
 */
export function idCountries({ default_country: country }: Pick<Site, 'default_country'>): readonly string[] {
  return country === null ? [] : [country];
}

/** The countries whose phone numbers an event's texts may hold: those known of the request, and the one it names itself. */
export function eventCountries(properties: JsonObject, known: readonly string[]): readonly string[] {
  const named = codeIn(properties) ?? codeIn(properties['user_data']) ?? codeIn(properties['$set']);
  return named === null || known.includes(named) ? known : [...known, named];
}

function codeIn(record: unknown): string | null {
  if (typeof record !== 'object' || record === null) return null;
  const { country, country_code: code } = record as JsonObject;
  if (typeof country === 'string' && CODE.test(country)) return country.toUpperCase();
  return typeof code === 'string' && CODE.test(code) ? code.toUpperCase() : null;
}
