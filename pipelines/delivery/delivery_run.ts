import type { EventEntry } from '#schemas/event.ts';
import type { PlatformAnswer } from '#schemas/records.ts';
import type { Site } from '#schemas/setting.ts';
import type { TokenStore } from './access_tokens.ts';
import type { BreakerPort } from './breakers.ts';
import type { Adapter, Answer, EntryOutcome, HttpRequest, Piece, TokenAnswer } from './contract.ts';
import type { Fault, SiteRefusals } from './refusals.ts';
import type { Turns } from './turns.ts';

/** Events of one site for one destination. */
export interface DeliveryJob {
  adapter: Adapter;
  site: Site;
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
export interface Shortfall {
  sent: number;
  taken: number;
  detail: string;
}

export interface DeliveryPorts {
  /** Makes the call; never rejects, as no answer is an Answer too. */
  send(request: HttpRequest, timeoutMs: number): Promise<Answer>;
  /** Milliseconds since 1970 UTC. */
  nowMs(): number;
  /** Milliseconds of a clock that only goes forward, for spans. */
  monotonicMs(): number;
  /** The breaker of this destination and site. */
  breaker: BreakerPort;
  /** What is known of refusals of this destination and site. */
  refusals: SiteRefusals;
  /** Bounds the calls in flight of this destination, for each site and in all. */
  turns: Turns;
  /** Short-lived tokens of destinations that need one. */
  tokens: TokenStore;
  /** Whether no further call is to be begun: somebody else goes on with what is left. */
  stopping(): boolean;
  /** Told of each outcome that an answer, or the lack of one, gave, as soon as it is known. */
  answered(entry: EventEntry, outcome: EntryOutcome): void;
  /** Told of each call whose events were taken in part. */
  fellShort(shortfall: Shortfall): void;
}

export interface IndexedPiece extends Piece {
  index: number;
}

/** An event that was refused by itself, while it is open whether that is about the event. */
export interface HeldPiece {
  piece: IndexedPiece;
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
  queue: IndexedPiece[][];
  /** Whether the platform has taken any event of the job: what it refuses then is more likely the event's own fault. */
  hasTaken: boolean;
  /** Other events of the job being tried, to find out whether it is the destination; whether it seems so. */
  asking: Promise<boolean> | null;
  /** Whether the job's refusals were found to be about the destination. */
  isBlamed: boolean;
  held: HeldPiece[];
}

/** Settles an event by what the platform answered; null where no answer came. */
export function settleAnswered(
  run: Run,
  piece: IndexedPiece,
  judged: EntryOutcome | undefined,
  answer: PlatformAnswer | null,
): void {
  if (judged === undefined) return;
  const outcome = { ...judged, answer };
  run.outcomes[piece.index] = outcome;
  run.ports.answered(piece.entry, outcome);
}

/** Settles events of which nothing was asked. */
export function settleAll(run: Run, batch: readonly IndexedPiece[], outcome: EntryOutcome): void {
  for (const piece of batch) run.outcomes[piece.index] = outcome;
}
