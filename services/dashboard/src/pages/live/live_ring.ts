import type { Listing } from '#pipelines/analytics/event_lists.ts';

/** An event as it is listed. */
export type ListedEvent = Listing['events'][number];

/** The newest events that were seen, and how many there were. */
export interface Ring {
  /** Newest first by arrival. */
  events: readonly ListedEvent[];
  /** Every event that was seen since the start, each once. */
  seen: number;
  /** Whether there may have been more: an answer was as long as one may be. */
  isCut: boolean;
  /** When each of the events that may come again arrived, by id. */
  known: ReadonlyMap<string, number>;
  /** How many events a second came last. */
  rate: number;
}

export const RING_MAX = 500;
/** How many events an answer may have. */
export const ANSWER_MAX = 1_000;
/** How far before the newest event is asked again: an event may become a row later than one that arrived after it. */
const OVERLAP_MS_MAX = 60_000;
const OVERLAP_MS_MIN = 2_000;
/** How long an event is known after the newest one: as long as it may be answered again, and a little more. */
const KNOWN_MS = OVERLAP_MS_MAX + 5_000;
/** How many events that are known already an answer shall have, about. */
const OVERLAP_EVENTS = 300;
/** How far back the page begins. */
const BEGIN_MS = 600_000;
const RATE_OVER_MS = 10_000;
/** An event may be as old when it is first answered; where the newest is older, none has come since. */
const BECOMES_ROW_MS = 5_000;

export const EMPTY_RING: Ring = { events: [], seen: 0, isCut: false, known: new Map(), rate: 0 };

/** From when on is asked: before the newest event, the further the fewer come. Whole seconds, so that equal questions share an answer. */
export function askedAfter({ events, rate }: Ring, nowMs: number): number {
  const newest = events[0]?.received_at;
  const overlapMs = rate === 0 ? OVERLAP_MS_MAX : (OVERLAP_EVENTS / rate) * 1_000;
  const backMs = Math.min(OVERLAP_MS_MAX, Math.max(OVERLAP_MS_MIN, overlapMs));
  return Math.floor((newest === undefined ? nowMs - BEGIN_MS : newest - backMs) / 1_000) * 1_000;
}

/** The ring with what an answer of a moment, by the service's clock, has that it did not. The first answer is no sign of a cut: it begins in the midst of things. */
export function withAnswer(ring: Ring, answered: readonly ListedEvent[], asOfMs: number): Ring {
  const fresh = answered.filter(({ event_id }) => !ring.known.has(event_id));
  const isFirst = ring.seen === 0;
  if (fresh.length === 0) return { ...ring, rate: rateOf(ring.known, ring.events[0]?.received_at ?? 0, asOfMs) };
  const events = [...fresh, ...ring.events].sort((a, b) => b.received_at - a.received_at).slice(0, RING_MAX);
  const newest = events[0]?.received_at ?? 0;
  const known = new Map([...ring.known].filter(([, receivedMs]) => receivedMs >= newest - KNOWN_MS));
  for (const { event_id, received_at } of fresh) known.set(event_id, received_at);
  return {
    events,
    seen: ring.seen + fresh.length,
    isCut: ring.isCut || (!isFirst && answered.length >= ANSWER_MAX && fresh.length === answered.length),
    known,
    rate: rateOf(known, newest, asOfMs),
  };
}

function rateOf(known: ReadonlyMap<string, number>, newestMs: number, asOfMs: number): number {
  const beginMs = Math.max(newestMs, asOfMs - BECOMES_ROW_MS) - RATE_OVER_MS;
  let count = 0;
  for (const receivedMs of known.values()) if (receivedMs > beginMs) count += 1;
  return (count * 1_000) / RATE_OVER_MS;
}

/** How many of the events that were seen are neither in the ring nor among the older ones, in words; empty where all are. */
export function notShown({ events, seen, isCut }: Ring, older = 0): string {
  const missing = Math.max(0, seen - events.length - older);
  if (missing === 0 && (!isCut || older > 0)) return '';
  return `${isCut ? 'at least ' : ''}${missing.toLocaleString('en-GB')} not shown`;
}
