import { useEffect, useState } from 'preact/hooks';
import type { Listing, RecentEventsQuery } from '#pipelines/analytics/event_lists.ts';
import type { Filter } from '#pipelines/analytics/filters.ts';
import { type ApiError, ask } from '../../api/request.ts';

export type ListedEvent = Listing['events'][number];

/** The newest events that were seen, and how many there were. */
export interface Ring {
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
const BEGIN_MS = 600_000;
const RATE_OVER_MS = 10_000;
/** An event may be as old when it is first answered; where the newest is older, none has come since. */
const BECOMES_ROW_MS = 5_000;

export const EMPTY_RING: Ring = { events: [], seen: 0, isCut: false, known: new Map(), rate: 0 };

/**
 * From when on is asked: before the newest event, the further the fewer come. Whole seconds, so that equal questions share
 * an answer.
 */
export function askedAfter({ events, rate }: Ring, nowMs: number): number {
  const newest = events[0]?.received_at;
  const overlapMs = rate === 0 ? OVERLAP_MS_MAX : (OVERLAP_EVENTS / rate) * 1_000;
  const backMs = Math.min(OVERLAP_MS_MAX, Math.max(OVERLAP_MS_MIN, overlapMs));
  return Math.floor((newest === undefined ? nowMs - BEGIN_MS : newest - backMs) / 1_000) * 1_000;
}

/**
 * The ring with what an answer of a moment, by the service's clock, has that it did not. The first answer is no sign of a
 * cut: it begins in the midst of things.
 */
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

const MINUTE_MS = 60_000;
/** How far back one question reads at first; where little comes, the next one reads further. */
const WINDOW_MS = 10 * MINUTE_MS;
const WINDOW_MS_MAX = 24 * 60 * MINUTE_MS;
const FEW = 50;

interface Older {
  events: readonly ListedEvent[];
  /** Events of this time and earlier may be unread; null: nothing was read yet. */
  readTo: number | null;
  windowMs: number;
}

export const NOTHING_OLDER: Older = { events: [], readTo: null, windowMs: WINDOW_MS };

/** Between which times is read next. The later one is read again, as of its events some may be known and some not. */
export function olderRange({ events }: Ring, { readTo, windowMs }: Older, nowMs: number) {
  const until = (readTo ?? events.at(-1)?.received_at ?? nowMs) + 1;
  return { after: Math.max(0, until - 1 - windowMs), before: until };
}

/** What is read with an answer to the range that was asked for. */
export function withOlder(ring: Ring, older: Older, answered: readonly ListedEvent[], after: number): Older {
  const known = new Set([...ring.events, ...older.events].map(({ event_id }) => event_id));
  const fresh = answered.filter(({ event_id }) => !known.has(event_id));
  const isWhole = answered.length < ANSWER_MAX;
  const last = answered.at(-1)?.received_at ?? after;
  return {
    events: [...older.events, ...fresh],
    // A millisecond with more events than an answer may have is left behind rather than asked for again and again.
    readTo: isWhole ? after : fresh.length === 0 ? last - 1 : last,
    windowMs: isWhole && fresh.length < FEW ? Math.min(WINDOW_MS_MAX, 4 * older.windowMs) : older.windowMs,
  };
}

interface OlderEvents {
  older: Older;
  failure: ApiError | null;
  asks: boolean;
  load(): void;
}

/** Reads what arrived before the ring, for as long as `key` stays the same. */
export function useOlder(siteId: string, filters: LiveFilters, ring: Ring, key: string): OlderEvents {
  const [older, setOlder] = useState(NOTHING_OLDER);
  const [failure, setFailure] = useState<ApiError | null>(null);
  const [asking, setAsking] = useState<AbortController | null>(null);
  useEffect(() => {
    setOlder(NOTHING_OLDER);
    setFailure(null);
    // What was under way is dropped, and with it the one who would have said that it is over.
    setAsking(null);
  }, [key]);
  useEffect(() => () => asking?.abort(), [asking, key]);
  const load = async (controller: AbortController): Promise<void> => {
    const { after, before } = olderRange(ring, older, Date.now());
    const answer = await ask(siteId, 'live', liveQuestion(filters, after, ANSWER_MAX, before), controller.signal);
    if (controller.signal.aborted) return;
    if (answer.ok) setOlder(withOlder(ring, older, answer.value.events, after));
    setFailure(answer.ok ? null : answer.failure);
    setAsking(null);
  };
  return {
    older,
    failure,
    asks: asking !== null,
    load() {
      const controller = new AbortController();
      setAsking(controller);
      void load(controller).catch((error: unknown) => {
        if (!controller.signal.aborted) throw error;
      });
    },
  };
}

/** What of the events is looked at, as the address has it; an empty text is no condition. */
export interface LiveFilters {
  event: string;
  /** The first 16 characters of the key's SHA-256. */
  key: string;
  distinctId: string;
  /** Path of a property, its parts with dots between. */
  property: string;
  value: string;
}

export function readFilters(query: URLSearchParams): LiveFilters {
  const text = (name: string): string => query.get(name)?.trim() ?? '';
  return {
    event: text('event'),
    key: text('key'),
    distinctId: text('distinct_id'),
    property: text('property'),
    value: text('value'),
  };
}

export const filterParameters = ({
  event,
  key,
  distinctId,
  property,
  value,
}: LiveFilters): Record<string, string | null> => ({ event, key, distinct_id: distinctId, property, value });

export function liveQuestion(
  filters: LiveFilters,
  receivedAfter: number,
  limit: number,
  receivedBefore?: number,
): RecentEventsQuery {
  const conditions = conditionsOf(filters);
  return {
    received_after: receivedAfter,
    limit,
    ...(receivedBefore !== undefined && { received_before: receivedBefore }),
    ...(filters.event !== '' && { events: [filters.event] }),
    ...(conditions.length > 0 && { filters: conditions }),
  };
}

function conditionsOf({ key, distinctId, property, value }: LiveFilters): Filter[] {
  const conditions: Filter[] = [];
  if (key !== '') conditions.push({ field: { column: 'key_id' }, is: 'equal', to: [key] });
  if (distinctId !== '') conditions.push({ field: { column: 'distinct_id' }, is: 'equal', to: [distinctId] });
  const path = property.split('.').filter((part) => part !== '');
  if (path.length > 0) {
    const field = { property: path };
    conditions.push(value === '' ? { field, is: 'set' } : { field, is: 'equal', to: readings(value) });
  }
  return conditions;
}

/** Somebody who types 5 may mean the number or the text, and with true the truth value or the text. */
function readings(value: string): (string | number | boolean)[] {
  if (value === 'true' || value === 'false') return [value, value === 'true'];
  const number = Number(value);
  return Number.isFinite(number) && String(number) === value ? [value, number] : [value];
}
