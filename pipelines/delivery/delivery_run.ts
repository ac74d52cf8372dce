// One run of a delivery: its ports, the outcome of each event, and outcomes that are not committed yet.
import type { EventEntry } from '#schemas/event.ts';
import type { PlatformAnswer } from '#schemas/records.ts';
import type { DestinationRule, Site } from '#schemas/setting.ts';
import type { BreakerPort, Fault, Permit, SiteRejectionTracker } from './breaker.ts';
import { putNewest, type SiteConcurrencyLimiter } from './concurrency.ts';
import type {
  Adapter,
  Answer,
  EntryOutcome,
  EventVerdict,
  HttpRequest,
  SerializedEvent,
  TokenAnswer,
  Verdict,
} from './contract.ts';

/** Events of one site for one destination. */
export interface DeliveryJob {
  adapter: Adapter;
  /** The destination's id in the site. */
  destination: string;
  site: Site;
  rules: readonly DestinationRule[];
  settings: Record<string, string>;
  /** Opened secrets. */
  secrets: Record<string, string>;
  /** Overrides the platform's address for the whole process; null in production. */
  baseUrl: string | null;
  entries: readonly EventEntry[];
  /** The attempt being made, from 1. */
  attempt: number;
  nowMs: number;
}

/** Calls whose answer says how many of their events were taken, and that is not all. */
export interface PartialSuccess {
  sent: number;
  taken: number;
  detail: string;
}

export interface DeliveryPorts {
  /**
   * Makes the call; never rejects, as no answer is an Answer too.
   *
   * @param sent What it is for; nothing of an exchange for a token.
   */
  send(request: HttpRequest, timeoutMs: number, sent: readonly SerializedEvent[]): Promise<Answer>;
  /** Milliseconds since 1970 UTC. */
  nowMs(): number;
  /** Milliseconds of a clock that only goes forward, for spans. */
  monotonicMs(): number;
  /** The breaker of this destination and site. */
  breaker: BreakerPort;
  /** What is known of refusals of this destination and site. */
  rejections: SiteRejectionTracker;
  /** Bounds the calls in flight of this destination, for each site and in all. */
  turns: SiteConcurrencyLimiter;
  /** Short-lived tokens of destinations that need one. */
  tokens: TokenStore;
  /** Whether no further call is to be begun: somebody else goes on with what is left. */
  stopping(): boolean;
  /** Told of each outcome that an answer, or the lack of one, gave, as soon as it is known. */
  answered(entry: EventEntry, outcome: EntryOutcome): void;
  /** Told of each call whose events were taken in part. */
  onPartialSuccess(shortfall: PartialSuccess): void;
}

export interface IndexedSerializedEvent extends SerializedEvent {
  index: number;
  /** The id by which the platform tells doubles, where it takes one. */
  dedupId: string;
}

/** An event that was refused by itself, while it is open whether that is about the event. */
export interface UnresolvedEvent {
  piece: IndexedSerializedEvent;
  reason: string;
  detail: string;
  tookMs: number;
  answer: PlatformAnswer | null;
  fault: Fault;
}

/** What the calls of one job share. */
export interface Run {
  job: DeliveryJob;
  ports: DeliveryPorts;
  settings: unknown;
  timeoutMs: number;
  concurrencyMax: number;
  outcomes: EntryOutcome[];
  /** The one exchange for a token that the calls of the job wait for. */
  token: Promise<TokenAnswer> | null;
  /** Batches that were not begun. */
  queue: IndexedSerializedEvent[][];
  /** Whether the platform has taken any event of the job: what it refuses then is more likely the event's own fault. */
  anyDelivered: boolean;
  /** Other events of the job being tried, to find out whether it is the destination; whether it seems so. */
  asking: Promise<boolean> | null;
  /** Whether the job's refusals were found to be about the destination. */
  isDestinationBlamed: boolean;
  held: UnresolvedEvent[];
}

/** Settles an event by what the platform answered; null where no answer came. */
export function settleAnswered(
  run: Run,
  piece: IndexedSerializedEvent,
  judged: EntryOutcome | undefined,
  answer: PlatformAnswer | null,
): void {
  if (judged === undefined) return;
  const outcome = { ...judged, answer };
  run.outcomes[piece.index] = outcome;
  run.ports.answered(piece.entry, outcome);
}

/** Settles events of which nothing was asked. */
export function settleAll(run: Run, batch: readonly IndexedSerializedEvent[], outcome: EntryOutcome): void {
  for (const piece of batch) run.outcomes[piece.index] = outcome;
}

const unanswered = (
  outcome: EntryOutcome['outcome'],
  reason: string,
  detail = '',
  retryAfterMs: number | null = null,
): EntryOutcome => ({ outcome, reason, detail, tookMs: 0, retryAfterMs });

export const skipped = (reason: string): EntryOutcome => unanswered('skipped', reason);
export const dead = (reason: string, detail: string): EntryOutcome => unanswered('dead', reason, detail);
export const diverted = (reason: string, detail: string): EntryOutcome => unanswered('diverted', reason, detail);
export const paused = (reason: string, detail: string, retryAfterMs: number | null): EntryOutcome =>
  unanswered('paused', reason, detail, retryAfterMs);

/** An attempt that might be repeated, and will not be: what it took and what was answered stay as they were. */
export const givenUp = (attempt: EntryOutcome, reason: string): EntryOutcome => ({
  ...attempt,
  outcome: 'dead',
  reason,
  retryAfterMs: null,
});

/** Reason of a pause where the process was to stop before the event's turn came. */
const HANDED_OVER = 'handed_over';
/** Nothing was begun of the event: whoever has its partition next is to attempt it. */
export const handedOver = (): EntryOutcome => paused(HANDED_OVER, '', null);

export const isHandedOver = ({ outcome, reason }: EntryOutcome): boolean =>
  outcome === 'paused' && reason === HANDED_OVER;

/** Reason of a pause where the site's destination answers slowly, and the event waits for its turn. */
const SLOW = 'slow';

export const slowed = (): EntryOutcome => paused(SLOW, '', null);

export const isSlowed = ({ outcome, reason }: EntryOutcome): boolean => outcome === 'paused' && reason === SLOW;

/** Reasons: `breaker_open` and `throttled` heal by themselves; any other is what the platform said of the credentials. */
export function pausedByBreaker({ cause, reason, waitMs }: Extract<Permit, { kind: 'wait' }>): EntryOutcome {
  if (cause === 'credentials_broken') return paused(reason, '', waitMs);
  return paused(cause === 'failing' ? 'breaker_open' : 'throttled', reason, waitMs);
}

/** Reason of a delivery of which the platform took only a part of the call's events, and does not say which. */
const TAKEN_IN_PART = 'taken_in_part';

/** Reason of an attempt that ended before the refused events of a batch were found. */
export const SPLIT_UNFINISHED = 'split_unfinished';

const OUTCOMES: Readonly<Record<EventVerdict['kind'], EntryOutcome['outcome']>> = {
  delivered: 'delivered',
  retry: 'diverted',
  throttle: 'diverted',
  dead: 'dead',
  credentials_broken: 'paused',
};

function outcomeOf(verdict: EventVerdict, tookMs: number): EntryOutcome {
  const { reason, detail } = verdict.kind === 'delivered' ? { reason: '', detail: '' } : verdict;
  const retryAfterMs = verdict.kind === 'throttle' ? verdict.retryAfterMs : null;
  return { outcome: OUTCOMES[verdict.kind], reason, detail, tookMs, retryAfterMs };
}

/**
 * Outcomes of a batch that will not be split further. One event refused by itself is dead; several, where the calls for
 * finding the refused one are used up, go on in the next attempt as `split_unfinished`.
 */
export function settle(verdict: Verdict, count: number, tookMs: number): EntryOutcome[] {
  const each = (one: EventVerdict): EntryOutcome[] => Array<EntryOutcome>(count).fill(outcomeOf(one, tookMs));
  if (verdict.kind === 'per_event') {
    if (verdict.verdicts.length === count) return verdict.verdicts.map((one) => outcomeOf(one, tookMs));
    return each({ kind: 'retry', reason: 'answer_mismatch', detail: `${verdict.verdicts.length} for ${count}` });
  }
  if (verdict.kind === 'taken_in_part') {
    const { detail } = verdict;
    return Array<EntryOutcome>(count).fill({ ...skipped(TAKEN_IN_PART), outcome: 'delivered', detail, tookMs });
  }
  if (verdict.kind !== 'split') return each(verdict);
  const { reason, detail } = verdict;
  return each(count === 1 ? { kind: 'dead', reason, detail } : { kind: 'retry', reason: SPLIT_UNFINISHED, detail });
}

/** Partition of a topic that attempts were read from. */
export interface Source {
  topic: string;
  partition: number;
}

/** Where an attempt at an event stands in its source: the record's offset and the event's place in the record, from 0; and for whom. */
export interface Place {
  offset: number;
  index: number;
  /** The destination's id. */
  destination: string;
}

/** What a platform made of an attempt. */
interface GivenOutcome {
  outcome: EntryOutcome;
  attemptedAtMs: number;
}

/**
 * Outcomes that a platform has given and that are not committed yet. Where their transaction fails the same attempts are
 * read again: they are found here, and not sent a second time.
 */
export interface UncommittedOutcomes {
  of(source: Source, place: Place): GivenOutcome | null;
  keep(source: Source, place: Place, given: GivenOutcome): void;
  /** What lies before the offset is committed. */
  committed(source: Source, offset: number): void;
  /** What is kept of a source is to be decided anew. */
  forget(source: Source): void;
}

/** By the event's place and the destination. */
type OfRecord = Map<string, GivenOutcome>;

const keyInRecord = ({ index, destination }: Place): string => `${index}/${destination}`;

/**
 * Keeps at most `outcomesMax` outcomes. When there are more, the records that came first are forgotten: were their
 * transaction to fail, their events would be sent again under the same keys.
 */
export function createUncommittedOutcomes(outcomesMax: number): UncommittedOutcomes {
  const sources = new Map<string, Map<number, OfRecord>>();
  let count = 0;

  function drop(name: string, offset: number): void {
    const records = sources.get(name);
    count -= records?.get(offset)?.size ?? 0;
    records?.delete(offset);
    if (records?.size === 0) sources.delete(name);
  }

  function dropFirst(): void {
    const [source] = sources;
    const [offset] = source?.[1].keys() ?? [];
    if (source !== undefined && offset !== undefined) drop(source[0], offset);
  }

  function dropBefore(source: Source, end: number): void {
    const name = nameOf(source);
    for (const offset of [...(sources.get(name)?.keys() ?? [])]) if (offset < end) drop(name, offset);
  }

  return {
    of: (source, place) => sources.get(nameOf(source))?.get(place.offset)?.get(keyInRecord(place)) ?? null,
    keep(source, place, given) {
      const { offset } = place;
      const key = keyInRecord(place);
      const name = nameOf(source);
      while (count >= outcomesMax) dropFirst();
      const records = sources.get(name) ?? new Map<number, OfRecord>();
      sources.set(name, records);
      const ofRecord: OfRecord = records.get(offset) ?? new Map();
      records.set(offset, ofRecord);
      if (!ofRecord.has(key)) count += 1;
      ofRecord.set(key, given);
    },
    committed: dropBefore,
    forget: (source) => dropBefore(source, Number.POSITIVE_INFINITY),
  };
}

const nameOf = ({ topic, partition }: Source): string => `${topic}/${partition}`;

/** Short-lived tokens in memory, by whose they are. Losing one costs an exchange. */
export interface TokenStore {
  /** The token that is still valid at a time, or null. */
  get(key: string, nowMs: number): string | null;
  put(key: string, token: string, expiresAtMs: number): void;
  forget(key: string): void;
}

/** How long before its end a token is no longer used: clocks differ, and a request takes its time. */
const MARGIN_MS = 60_000;

/** @param tokensMax tokens kept at the most; the oldest goes first. */
export function createTokens(tokensMax: number): TokenStore {
  const tokens = new Map<string, { token: string; expiresAtMs: number }>();
  return {
    get: (key, nowMs) => {
      const known = tokens.get(key);
      return known !== undefined && nowMs < known.expiresAtMs - MARGIN_MS ? known.token : null;
    },
    put: (key, token, expiresAtMs) => putNewest(tokens, key, { token, expiresAtMs }, tokensMax),
    forget: (key) => void tokens.delete(key),
  };
}
