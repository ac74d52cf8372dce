import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import type { Effort } from '#pipelines/privacy/effort.ts';
import type { ActionSource } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import type { SiteRules } from './site_rules.ts';
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
  isOfShowings?: boolean;
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
