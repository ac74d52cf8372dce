import { useEffect, useState } from 'preact/hooks';
import type { Failure } from '../../api/api_answer.ts';
import { ask } from '../../api/questions.ts';
import { type LiveFilters, liveQuestion } from './live_filters.ts';
import { ANSWER_MAX, type ListedEvent, type Ring } from './live_ring.ts';

const MINUTE_MS = 60_000;
/** How far back one question reads at first; where little comes, the next one reads further. */
const WINDOW_MS = 10 * MINUTE_MS;
const WINDOW_MS_MAX = 24 * 60 * MINUTE_MS;
const FEW = 50;

/** What arrived before the ring begins, as far as it was read. */
export interface Older {
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
  failure: Failure | null;
  asks: boolean;
  /** Reads further back. */
  load(): void;
}

/** Reads what arrived before the ring, for as long as `key` stays the same. */
export function useOlder(siteId: string, filters: LiveFilters, ring: Ring, key: string): OlderEvents {
  const [older, setOlder] = useState(NOTHING_OLDER);
  const [failure, setFailure] = useState<Failure | null>(null);
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
