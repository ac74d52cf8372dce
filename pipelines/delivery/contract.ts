import type { TObject } from 'typebox';
import type { PrivacyChoices } from '#pipelines/events/consent.ts';
import type { ConversionName } from '#pipelines/events/vocabulary.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';
import type { PlatformAnswer } from '#schemas/records.ts';
import type { Site } from '#schemas/setting.ts';

/** What is sent. `body` is already serialised, so that its size is known and a re-send is the same bytes. */
export interface HttpRequest {
  method: 'POST';
  url: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
  /** Whether the URL comes from code or from the process's configuration; a URL from a site's settings is not trusted. */
  trusted: boolean;
}

/**
 * Why a call brought no answer. `address_refused`: the guard against internal addresses would not connect;
 * `invalid_request`: it cannot be written as HTTP, as with a line break in a header. After `connect`, `dns`, `tls`,
 * `address_refused` and `invalid_request` it is certain that the platform has not seen the request.
 */
const NO_ANSWER_REASONS = ['timeout', 'connect', 'dns', 'tls', 'reset', 'address_refused', 'invalid_request'] as const;
export type NoAnswerReason = (typeof NO_ANSWER_REASONS)[number];

export type Answer =
  | { kind: 'answered'; status: number; headers: Record<string, string>; body: string }
  | { kind: 'no_answer'; reason: NoAnswerReason };

/**
 * What an answer means for one event. `reason` is a stable code; `detail` says more for a person and holds nothing
 * that the platform echoed from the event. Of a dead event `isDoubtful` says that, were all events of a call to be refused
 * so, it would be the destination.
 */
export type EventVerdict =
  | { kind: 'delivered' }
  | { kind: 'retry'; reason: string; detail: string }
  | { kind: 'throttle'; reason: string; detail: string; retryAfterMs: number | null }
  | { kind: 'dead'; reason: string; detail: string; isDoubtful?: true }
  | { kind: 'credentials_broken'; reason: string; detail: string };

/**
 * What an answer means for the batch that was sent. `split`: the platform refused the whole batch because of some event
 * in it; `refusedIndexes` are the places of those it named, from 0, and absent where it named none. With `isDoubtful` its words
 * may be about the destination as well: the same code answers a bad event and a pixel that does not exist. `per_event`:
 * the platform judged each event, in the order sent. `taken_in_part`: it took so many of the events and does not say
 * which; none is sent again, as each may be among them.
 */
export type Verdict =
  | EventVerdict
  | { kind: 'split'; reason: string; detail: string; refusedIndexes?: readonly number[]; isDoubtful?: true }
  | { kind: 'taken_in_part'; taken: number; detail: string }
  | { kind: 'per_event'; verdicts: EventVerdict[] };

/** How long the calls under way are waited for when a process has to give its partitions away, or to stop. */
export const DELIVERY_DRAIN_MS = 17_000;

/** Limits of one request and of one site's traffic to a platform. */
export interface Limits {
  batchEventsMax: number;
  /** Of the whole request body. */
  batchBytesMax: number;
  /** Requests in flight per site. */
  concurrencyMax: number;
  /** Of one call; so much shorter than the drain that its outcome can be committed then. */
  timeoutMs: number;
}

/** What `map` may use beside the event itself. */
export interface MapContext<Settings> {
  /** The destination's id. */
  destination: string;
  settings: Settings;
  site: Site;
  name: ConversionName;
  /** The platform's name that the site's `event_names` setting gives to the event; null where it gives none. */
  mappedEventName: string | null;
  /** The event's own identifiers, completed by what is known of the person. */
  identifiers: Identifiers;
  /** Further addresses, numbers and forms of the same person that the event gave, for platforms that take lists. */
  further: readonly Identifiers[];
  /** What the event says of consent and limited use. */
  choices: PrivacyChoices;
  /** `event.properties`, parsed, without what a rule drops. */
  properties: Record<string, unknown>;
  /** The id by which an ad platform tells doubles, and `$lib`: of the event as it was given, so that no rule makes it count twice. */
  dedupId: string;
  library: unknown;
  nowMs: number;
}

/**
 * `form` is the platform's JSON form of the event. `group` separates events that may not share a request (another
 * pixel, another visitor) and says what those of one request share; '' where there is one kind.
 */
export type MapResult = { kind: 'mapped'; form: object; group: string } | { kind: 'skip'; reason: string };

/** An event ready to be sent: `json` is its form, serialised once. */
export interface SerializedEvent {
  entry: EventEntry;
  json: string;
  bytes: number;
  group: string;
}

export interface RequestContext<Settings> {
  /** The destination's id. */
  destination: string;
  settings: Settings;
  /** Overrides the platform's address for the whole process; null in production. */
  baseUrl: string | null;
  group: string;
  /** The short-lived token of `authorisation`; '' where the destination has none. */
  token: string;
  nowMs: number;
}

/** A person who was erased, as a destination knows them: by what it was sent of them. */
export interface ErasedPerson {
  /** The same whenever it is told again. */
  notice_id: string;
  site_id: string;
  /** When that was asked for, milliseconds since 1970 UTC. */
  erased_at: number;
  distinct_ids: readonly string[];
  person_ids: readonly string[];
  /** SHA-256 in lower-case hex. */
  email_sha256: readonly string[];
  external_id_sha256: readonly string[];
}

/** What came of asking for a token. */
export type TokenAnswer =
  | { kind: 'token'; token: string; lifetimeMs: number }
  | { kind: 'none'; verdict: EventVerdict };

/** How a platform gives out the short-lived token that its requests carry, as OAuth 2 does. */
export interface Authorisation<Settings = unknown> {
  /** The request for a token, or why none can be made: a key that cannot be read. */
  request(
    context: Pick<RequestContext<Settings>, 'settings' | 'baseUrl' | 'nowMs'>,
  ): { kind: 'request'; request: HttpRequest } | { kind: 'none'; verdict: EventVerdict };
  read(answer: Answer): TokenAnswer;
}

/**
 * One destination. Everything else (topics, consumer group, batching, retry topics, breaker, settings form, contract tests)
 * follows from this value. All functions are pure.
 */
export interface Adapter<Settings = unknown> {
  /** Lower-case letters, digits and underscores; part of topic names. */
  readonly name: string;
  readonly title: string;
  /** String fields with title and description; those that hold a secret are made with `secretField`. */
  readonly schema: TObject;
  /** What becomes of events taken while the site was in offline mode, which carry no identifiers. */
  readonly anonymousEvents: 'send' | 'skip';
  /**
   * Whether it is an advertising platform, to which nothing goes of people who refused that, and whether it can be told
   * to use an event in a limited way only; `unrestrictable` ones get no such events.
   */
  readonly advertising: 'none' | 'restrictable' | 'unrestrictable';
  /** Set where the platform does not tell a repetition by the event's id, so that one after a lost answer counts again. */
  readonly repetition?: 'at_least_once';
  /** Absent where requests carry what the settings hold. */
  readonly authorisation?: Authorisation<Settings>;
  limits(settings: Settings): Limits;
  /** How old an event may be when it is sent; null where age does not matter. */
  ageMaxMs(event: Event): number | null;
  map(entry: EventEntry, context: MapContext<Settings>): MapResult;
  /** Bytes of the request body beside the forms and one separator for each. */
  overheadBytes(settings: Settings): number;
  request(pieces: readonly SerializedEvent[], context: RequestContext<Settings>): HttpRequest;
  /** The request that tells of an erased person; absent where a destination can be told nothing by what its settings hold. */
  erasedRequest?(
    person: ErasedPerson,
    context: Pick<RequestContext<Settings>, 'destination' | 'settings' | 'baseUrl' | 'nowMs'>,
  ): HttpRequest;
  /** @param sentIds of the events in the request that was answered, in their order: the `dedupId` of each. */
  classify(answer: Answer, sentIds: readonly string[]): Verdict;
}

/** What became of one event in one attempt. `tookMs` is the time of the call; 0 when none was made. */
export interface EntryOutcome {
  outcome: 'delivered' | 'skipped' | 'diverted' | 'dead' | 'paused';
  /** Stable code; when delivered '', or `taken_in_part`. */
  reason: string;
  detail: string;
  tookMs: number;
  /** For `diverted` and `paused`: the wait that the platform, or the breaker, asks for; null when none was given. */
  retryAfterMs: number | null;
  /** What the platform answered; absent or null where nothing was asked, or it gave no answer. */
  answer?: PlatformAnswer | null;
}
