import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { poll } from '../live/poll.ts';
import type { Answer, Failure } from './api_answer.ts';

/** What a page knows of something it asked for. What was answered last stays until the next answer is there. */
export interface Asked<Value> {
  value: Value | null;
  version: string | null;
  failure: Failure | null;
  /** Whether nothing was answered yet. */
  waits: boolean;
  /** Whether the value answers the question before, of another key. */
  isOld: boolean;
  /** Whether a newer answer is under way. */
  asks: boolean;
  /** Asks again. */
  again(): void;
}

/**
 * What is asked only of those who may ask it, and null for the others. Their asking would be refused for as long as the page
 * is open, and refusals stand in the audit.
 */
export const askedWhere =
  <Value>(isAllowed: boolean, asking: (signal: AbortSignal) => Promise<Answer<Value>>) =>
  async (signal: AbortSignal): Promise<Answer<Value | null>> =>
    isAllowed ? asking(signal) : { ok: true, value: null, version: null };

interface State<Value> {
  key: string;
  value: Value | null;
  version: string | null;
  failure: Failure | null;
  asks: boolean;
}

/**
 * Asks when a part of the page is first shown, whenever `key` changes, and every so often where `everyMs` is given; never
 * while the page is hidden. An answer to an older question is dropped.
 */
export function useAnswer<Value>(
  key: string,
  asking: (signal: AbortSignal) => Promise<Answer<Value>>,
  everyMs: number | null = null,
): Asked<Value> {
  const [state, setState] = useState<State<Value>>({ key, value: null, version: null, failure: null, asks: true });
  const [round, setRound] = useState(0);
  const current = useRef(asking);
  current.current = asking;
  // The question is told by its key, and the round asks it again.
  useEffect(() => {
    const controller = new AbortController();
    const once = async (): Promise<void> => {
      setState((before) => ({ ...before, asks: true }));
      try {
        const answer = await current.current(controller.signal);
        if (!controller.signal.aborted) setState((before) => after(before, key, answer));
      } catch (error) {
        if (!controller.signal.aborted) throw error;
      }
    };
    const stop = poll(once, everyMs);
    return () => {
      stop();
      controller.abort();
    };
  }, [key, round, everyMs]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  const { value, version, failure, asks } = state;
  const isOld = value !== null && state.key !== key;
  return { value, version, failure, asks, isOld, waits: value === null && failure === null, again };
}

/** A failure leaves what is known of the same question, and takes away what was an answer to another one. */
function after<Value>(before: State<Value>, key: string, answer: Answer<Value>): State<Value> {
  if (answer.ok) return { key, value: answer.value, version: answer.version, failure: null, asks: false };
  const kept = before.key === key ? before : { value: null, version: null };
  return { key, value: kept.value, version: kept.version, failure: answer.failure, asks: false };
}
