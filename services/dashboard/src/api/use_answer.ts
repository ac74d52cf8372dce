import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { session } from '../session.ts';
import { type ApiError, type ApiResult, listAll, type Parameters, request } from './request.ts';

/** What a page knows of something it asked for. What was answered last stays until the next answer is there. */
export interface Asked<Value> {
  value: Value | null;
  version: string | null;
  failure: ApiError | null;
  waits: boolean;
  /** Whether the value answers the question before, of another key. */
  isOld: boolean;
  asks: boolean;
  again(): void;
}

/** After how long it is asked again, which what is known may tell; null: never. */
type HowOften<Value> = number | null | ((value: Value | null) => number | null);

/**
 * What is asked only of those who may ask it, and null for the others. Their asking would be refused for as long as the page
 * is open, and refusals stand in the audit.
 */
export const askedWhere =
  <Value>(isAllowed: boolean, asking: (signal: AbortSignal) => Promise<ApiResult<Value>>) =>
  async (signal: AbortSignal): Promise<ApiResult<Value | null>> =>
    isAllowed ? asking(signal) : { ok: true, value: null, version: null };

interface State<Value> {
  key: string;
  value: Value | null;
  version: string | null;
  failure: ApiError | null;
  asks: boolean;
}

/**
 * Asks when a part of the page is first shown, whenever `key` changes, and every so often where `everyMs` is given; never
 * while the page is hidden. An answer to an older question is dropped.
 */
export function useQuery<Value>(
  key: string,
  asking: (signal: AbortSignal) => Promise<ApiResult<Value | null>>,
  everyMs: HowOften<Value> = null,
): Asked<Value> {
  const [state, setState] = useState<State<Value>>({ key, value: null, version: null, failure: null, asks: true });
  const [round, setRound] = useState(0);
  const often = typeof everyMs === 'function' ? everyMs(state.value) : everyMs;
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
    const stop = poll(once, often);
    return () => {
      stop();
      controller.abort();
    };
  }, [key, round, often]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  const { value, version, failure, asks } = state;
  const isOld = value !== null && state.key !== key;
  return { value, version, failure, asks, isOld, waits: value === null && failure === null, again };
}

/** Reads something of the API; nothing where the path is null, as it is not for the role of who looks. */
export function useGet<Value>(path: string | null, query: Parameters = {}, everyMs: HowOften<Value> = null) {
  const asking = (signal: AbortSignal) => request<Value>('GET', path ?? '', { query, signal });
  return useQuery(JSON.stringify([path, query]), askedWhere(path !== null, asking), everyMs);
}

/** Reads every item of a list of the API, up to a number; `more` says whether there are others. Nothing where the path is null. */
export function useList<Item>(
  path: string | null,
  query: Parameters = {},
  everyMs: HowOften<{ items: Item[]; more: boolean }> = null,
  max = 10_000,
) {
  const asking = (signal: AbortSignal) => listAll<Item>(path ?? '', query, max, signal);
  return useQuery(JSON.stringify([path, query]), askedWhere(path !== null, asking), everyMs);
}

/** A failure leaves what is known of the same question, and takes away what was an answer to another one. */
function after<Value>(before: State<Value>, key: string, answer: ApiResult<Value | null>): State<Value> {
  if (answer.ok) return { key, value: answer.value, version: answer.version, failure: null, asks: false };
  const kept = before.key === key ? before : { value: null, version: null };
  return { key, value: kept.value, version: kept.version, failure: answer.failure, asks: false };
}

/** A change that somebody asked for by a button: whether it is under way, and why it was refused. */
interface Action {
  isBusy: boolean;
  failure: ApiError | null;
  /** Does it, unless it is under way; answers what came of it, and hands it to `onDone`, where that went well, else null. */
  run<Value>(task: () => Promise<ApiResult<Value>>, onDone?: (value: Value) => unknown): Promise<Value | null>;
  clear(): void;
}

export function useMutation(): Action {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiError | null>(null);
  return {
    isBusy,
    failure,
    async run(task, onDone) {
      if (isBusy) return null;
      setBusy(true);
      const answer = await task();
      setBusy(false);
      setFailure(answer.ok ? null : answer.failure);
      if (!answer.ok) return null;
      onDone?.(answer.value);
      return answer.value;
    },
    clear: () => setFailure(null),
  };
}

/**
 * Runs a task now and then every so often, measured from the end of the last run, so that runs never overlap. While the
 * page is hidden, or the session has ended, none begins; one that is due begins as soon as it is shown again. With null it
 * runs once, when the page is shown. Answers how to stop it.
 */
export function poll(task: () => Promise<void>, everyMs: number | null): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isRunning = false;
  let isDue = true;
  let isStopped = false;

  const begin = (): void => {
    clearTimeout(timer);
    isDue = true;
    if (isStopped || isRunning || isAway()) return;
    isRunning = true;
    isDue = false;
    void task().finally(() => {
      isRunning = false;
      // What was refused as of nobody is asked again of whoever signs in.
      isDue = hasEnded();
      if (everyMs !== null && !isStopped) timer = setTimeout(begin, everyMs);
    });
  };
  const onBack = (): void => {
    if (!isAway() && isDue) begin();
  };
  document.addEventListener('visibilitychange', onBack);
  const unsubscribe = session.subscribe(onBack);
  return () => {
    isStopped = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onBack);
    unsubscribe();
  };
}

const hasEnded = (): boolean => session.peek().state === 'ended';
const isAway = (): boolean => document.hidden || hasEnded();
