import { ask } from './ask.ts';
import { count } from './day_counters.ts';
import type { EventStore } from './event_store.ts';
import { attempt, guarded, listen } from './guarded.ts';
import { BATCH_BYTES_MAX, EVENT_BYTES_MAX, LEAVING_BYTES_MAX, OTHERS_OLDER_MS, TOGETHER_MS } from './limits.ts';
import { bodyOf, bytesOf, cutBatch, excessOf, isForLater, type Waiting, waitMs } from './send_rules.ts';
import type { Properties } from './types.ts';
import { msOf } from './uuid7.ts';

/*
 * Holds events until the edge has them. One request is under way at a time, of one page at a time, and none while the
 * browser is offline or the edge asked for time. What is in the store outlives the page.
 */

/** This page's events that are not known as taken, and which of them the store has. */
export const waitingHere = new Map<string, string>();
const stored = new Set<string>();
/** What is in a request now. */
const flying = new Set<string>();
let flyingBytes = 0;
let url = '';
let storeNow: () => EventStore | undefined;
let timer = 0;
let isRunning = false;
let isAsked = false;
let isLeft = false;
let failures = 0;
/** Since an event told how many. */
let dropped = 0;
/** By the clock that nobody sets. */
let pausedUntilMs = 0;
let isPauseAsked = false;
/** How many events go together at most, once the edge found a batch too large. */
let eventsMax: number | undefined;
let endPause: (() => void) | undefined;

/**
 * @param to where events are posted, with the key.
 * @param store undefined as long as nothing may be stored.
 * @param leaving called when the page is hidden, before what waits is sent.
 */
export function openOutbox(to: string, store: () => EventStore | undefined, leaving: () => void): void {
  url = to;
  storeNow = store;
  const onHidden = (): void => {
    leaving();
    sendNow(true);
  };
  listen(document, 'visibilitychange', () => (document.hidden ? onHidden() : comeBack()));
  listen(window, 'pagehide', () => {
    onHidden();
    // A page that waits for a lock or holds one would not be kept for the way back.
    isLeft = true;
    endPause?.();
  });
  listen(window, 'pageshow', comeBack);
  listen(window, 'online', comeBack);
}

/**
 * Takes an event to send: with what comes soon after; where it is urgent or the page is being left at once, before anything
 * is waited for, as a tab that is closed meanwhile on a busy machine is ended before it hears of it.
 */
export function addWaiting(key: string, event: { properties: Properties }, isUrgent?: unknown): void {
  if (dropped) event.properties['$dropped'] = dropped;
  dropped = 0;
  const waiting: Waiting = [key, JSON.stringify(event)];
  if (bytesOf(waiting) > EVENT_BYTES_MAX) {
    drop([waiting]);
    return;
  }
  waitingHere.set(...waiting);
  void storeNow()
    ?.put(waiting)
    .then((isWritten) => isWritten && waitingHere.has(key) && stored.add(key));
  const all = [...waitingHere];
  drop(all.slice(0, excessOf(all)));
  // Nobody knows how long a page lives that is hidden, and its other listeners may still have something to say.
  if (document.hidden) sendNow(true);
  else if (isUrgent) sendNow();
  else wakeAfter(TOGETHER_MS);
}

/** Until something may be sent. The clock is asked only where there is something to wait for. */
const pauseMs = (): number => pausedUntilMs && pausedUntilMs - performance.now();

function comeBack(): void {
  isLeft = false;
  if (!isPauseAsked) pausedUntilMs = 0;
  endPause?.();
  if (waitingHere.size) wake();
}

function lose(key: string): void {
  waitingHere.delete(key);
  stored.delete(key);
}

function forget(batch: readonly Waiting[]): void {
  for (const [key] of batch) lose(key);
  void storeNow()?.remove(batch);
}

function drop(batch: readonly Waiting[]): void {
  if (!batch[0]) return;
  dropped += batch.length;
  count('dropped', batch.length);
  forget(batch);
}

function wakeAfter(ms: number): void {
  timer ||= setTimeout(guarded(wake), ms);
}

/** Sends what waits: this page's events, and those that earlier pages left in the store. */
export function wake(): void {
  clearTimeout(timer);
  timer = 0;
  isAsked = true;
  if (isRunning) return;
  isRunning = true;
  // A page without locks, such as one in a sandbox, shares no store either.
  (attempt(() => navigator.locks.request('svc', drain)) ?? drain()).catch(drain).catch(stop);
}

async function drain(): Promise<void> {
  while (!isLeft && navigator.onLine !== false) {
    const ms = pauseMs();
    if (ms > 0) await sleep(ms);
    else {
      isAsked = false;
      const [batch, bytes] = cutBatch(await nextWaiting(), BATCH_BYTES_MAX, eventsMax);
      if (batch[0]) await send(batch, bytes);
      else if (!isAsked) break;
    }
  }
  stop();
}

const stop = (): void => {
  isRunning = false;
};

const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    const ending = setTimeout(resolve, ms);
    endPause = () => {
      clearTimeout(ending);
      resolve();
    };
  });

/** What the store has and what only this page has. An event of this page that is gone from the store, another page sent. */
async function nextWaiting(): Promise<Waiting[]> {
  const expected = [...stored];
  const found = await storeNow()?.all();
  const keys = new Map(found);
  if (found) for (const key of expected) if (!keys.has(key)) lose(key);
  const waiting = [...new Map([...keys, ...waitingHere])];
  drop(waiting.splice(0, excessOf(waiting)));
  const due = waiting.filter(([key]) => waitingHere.has(key) || Math.abs(Date.now() - msOf(key)) > OTHERS_OLDER_MS);
  if (due.length < waiting.length) wakeAfter(OTHERS_OLDER_MS);
  return due.filter(([key]) => !flying.has(key));
}

async function send(batch: readonly Waiting[], bytes: number, isLeaving?: boolean): Promise<void> {
  const body = bodyOf(batch);
  flyingBytes += bytes;
  for (const [key] of batch) flying.add(key);
  const answer = await ask(url, {
    method: 'POST',
    // A text without credentials needs no preflight, and is what the edge's open CORS answers.
    body,
    keepalive: bytes <= BATCH_BYTES_MAX,
  }).catch(() => undefined);
  // Nothing is taken off for a beacon, which tells nobody what became of it: it is sent again, under its ids.
  if (!answer && isLeaving) attempt(() => navigator.sendBeacon(url, body));
  flyingBytes -= bytes;
  for (const [key] of batch) flying.delete(key);
  if (!answer || isForLater(answer.status)) return pause(answer);
  failures = 0;
  if (answer.status === 413) {
    // Half of them next time, down to the one that is too large.
    eventsMax = batch.length >> 1 || undefined;
    if (eventsMax) return;
  }
  forget(batch);
  // `accepted: 0` and `dropped` are final as well: the edge wants no more of these.
  const rejected = answer.ok ? (await answer.json().catch(() => undefined))?.rejected : batch;
  if (rejected) count('rejected', rejected.length);
}

function pause(answer?: Response): void {
  const retryAfter = answer?.headers.get('retry-after');
  count('retried');
  isPauseAsked = (retryAfter as unknown as number) > 0;
  pausedUntilMs = performance.now() + waitMs(++failures, Math.random(), retryAfter);
}

/** Sends all that this page still has at once, as much as may be in flight when it is left; in a pause what nothing else keeps. */
function sendNow(isLeaving?: boolean): void {
  const isPaused = pauseMs() > 0;
  if ((isPaused && (isPauseAsked || !isLeaving)) || navigator.onLine === false) return;
  let room = LEAVING_BYTES_MAX - flyingBytes;
  let rest = [...waitingHere].filter(([key]) => !flying.has(key) && !(isPaused && stored.has(key)));
  for (;;) {
    const [batch, bytes] = cutBatch(rest, Math.min(room, BATCH_BYTES_MAX), eventsMax);
    if (!batch[0] || bytes > room) return;
    rest = rest.slice(batch.length);
    room -= bytes;
    send(batch, bytes, isLeaving)
      .then(() => waitingHere.size && wake())
      .catch(() => undefined);
  }
}
