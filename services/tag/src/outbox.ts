import {
  BATCH_BYTES_MAX,
  EVENT_BYTES_MAX,
  EVENTS_MAX,
  LEAVING_BYTES_MAX,
  OTHERS_OLDER_MS,
  TOGETHER_MS,
} from './limits.ts';
import { attempt, guarded, listen } from './page.ts';
import { askFor, bodyOf, bytesOf, cutBatch, excessOf, type Told, type Waiting, waitMs } from './requests.ts';
import { count, type EventStore } from './storage.ts';
import type { Properties } from './types.ts';
import { msOf } from './visitor.ts';

/*
 * Holds events until the edge has them. One request is under way at a time, of one page at a time, and none while the
 * browser is offline or the edge asked for time. What is in the store outlives the page.
 */

/** This page's events that are not known as taken, and which of them the store has. */
export const waitingHere = new Map<string, string>();
const stored = new Set<string>();
/** What is gone since the store was last asked, whose answer may still have it. */
const gone = new Set<string>();
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
/** How many were lost that no event tells of yet. */
let dropped = 0;
/** By the clock that nobody sets. */
let pausedUntilMs = 0;
let isPauseAsked = false;
/** End the waits for the edge. */
const sleepers: (() => void)[] = [];

/**
 * @param to where events are posted, with the key.
 * @param store undefined as long as nothing may be stored.
 * @param leaving called when the page is hidden, before what waits is sent.
 */
export const openOutbox = (to: string, store: () => EventStore | undefined, leaving: () => void): void => {
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
    endSleep();
  });
  listen(window, 'pageshow', comeBack);
  listen(window, 'online', comeBack);
};

/**
 * Takes an event to send: with what comes soon after; where it is urgent or the page is being left at once, before anything
 * is waited for, as a tab that is closed meanwhile on a busy machine is ended before it hears of it.
 */
export const addWaiting = (key: string, event: { properties: Properties }, isUrgent?: unknown): void => {
  const waiting: Waiting = [key, JSON.stringify(event)];
  waitingHere.set(...waiting);
  drop(bytesOf(waiting) > EVENT_BYTES_MAX ? [waiting] : excessOf(unsent()));
  if (!waitingHere.has(key)) return;
  if (dropped) {
    // It tells of those as well that had to go for it.
    event.properties['$dropped'] = toldOf(waiting) + dropped;
    dropped = 0;
    addWaiting(key, event, isUrgent);
  } else {
    void storeNow()
      ?.put_(waiting)
      .then((isWritten) => isWritten && waitingHere.has(key) && stored.add(key));
    // Nobody knows how long a page lives that is hidden, and its other listeners may still have something to say.
    if (document.hidden) sendNow(true);
    // What is enough for a request goes: in a burst more comes than may wait.
    else if (isUrgent || waitingHere.size - flying.size >= EVENTS_MAX) sendNow();
    else wakeAfter(TOGETHER_MS);
  }
};

/** What is in no request. What is, may be taken all the same. */
const unsent = (): Waiting[] => [...waitingHere].filter(([key]) => !flying.has(key));

/** How many events an event tells as lost. */
const toldOf = ([, json]: Waiting): number =>
  (JSON.parse(json) as { properties: { $dropped?: number } }).properties.$dropped ?? 0;

/** Until something may be sent. The clock is asked only where there is something to wait for. */
const pauseMs = (): number => pausedUntilMs && pausedUntilMs - performance.now();

const comeBack = (): void => {
  isLeft = false;
  if (!isPauseAsked) pausedUntilMs = 0;
  endSleep();
  if (waitingHere.size) wake();
};

const lose = (key: string): void => {
  gone.add(key);
  waitingHere.delete(key);
  stored.delete(key);
};

const forget = (batch: readonly Waiting[]): void => {
  for (const [key] of batch) lose(key);
  void storeNow()?.remove_(batch);
};

/** Those that were dropped before they got here as well: they are counted, and the next event tells of them. */
export const countDropped = (ofIt = 0): void => {
  dropped += 1 + ofIt;
  count('dropped');
};

const drop = (batch: readonly Waiting[]): void => {
  if (!batch[0]) return;
  for (const one of batch) countDropped(toldOf(one));
  forget(batch);
};

const wakeAfter = (ms: number): void => {
  // A number in a browser; the types of Node, with which tests are compiled, say otherwise.
  timer ||= setTimeout(guarded(wake), ms) as unknown as number;
};

/** Sends what waits: this page's events, and those that earlier pages left in the store. */
export const wake = (): void => {
  clearTimeout(timer);
  timer = 0;
  isAsked = true;
  if (isRunning) return;
  isRunning = true;
  // A page without locks, such as one in a sandbox, shares no store either.
  (attempt(() => navigator.locks.request('svc', drain)) ?? drain()).catch(drain).catch(stop);
};

const drain = async (): Promise<void> => {
  while (!isLeft && navigator.onLine) {
    const ms = pauseMs();
    if (ms > 0) await sleep(ms);
    else {
      isAsked = false;
      const [batch, bytes] = cutBatch(await nextWaiting(), BATCH_BYTES_MAX);
      if (batch[0]) await send(batch, bytes);
      else if (!isAsked) break;
    }
  }
  stop();
};

const stop = (): void => {
  isRunning = false;
};

/** Waits for the edge, until it may be there again. */
export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    sleepers.push(resolve);
    setTimeout(resolve, ms);
  });

const endSleep = (): void => {
  for (const end of sleepers.splice(0)) end();
};

/** What the store has and what only this page has. An event of this page that is gone from the store, another page sent. */
const nextWaiting = async (): Promise<Waiting[]> => {
  const expected = [...stored];
  gone.clear();
  const found = await storeNow()?.all_();
  const others = new Map(found);
  if (found) for (const key of expected) if (!others.delete(key)) lose(key);
  const all = [...[...others].filter(([key]) => !waitingHere.has(key) && !gone.has(key)), ...unsent()];
  drop(excessOf(all));
  const due = all.filter(
    ([key]) => !gone.has(key) && (waitingHere.has(key) || Math.abs(Date.now() - msOf(key)) > OTHERS_OLDER_MS),
  );
  if (due.length < all.length) wakeAfter(OTHERS_OLDER_MS);
  return due;
};

const send = async (batch: readonly Waiting[], bytes: number, isLeaving?: boolean): Promise<void> => {
  const body = bodyOf(batch, Date.now());
  flyingBytes += bytes;
  for (const [key] of batch) flying.add(key);
  const { answer_, told_ } = await askFor<Told>('accepted', url, {
    method: 'POST',
    // A text without credentials needs no preflight, and is what the edge's open CORS answers.
    body,
    // Browsers refuse what would be too much of it in flight.
    keepalive: flyingBytes <= LEAVING_BYTES_MAX,
  });
  // Nothing is taken off for a beacon, which tells nobody what became of it: it is sent again, under its ids.
  if (!answer_ && isLeaving) attempt(() => navigator.sendBeacon(url, body));
  flyingBytes -= bytes;
  for (const [key] of batch) flying.delete(key);
  if (!told_) {
    const retryAfter = answer_?.headers.get('retry-after');
    count('retried');
    isPauseAsked = (retryAfter as unknown as number) > 0;
    pausedUntilMs = performance.now() + waitMs(++failures, Math.random(), retryAfter);
    return;
  }
  failures = 0;
  forget(batch);
  // `accepted: 0` and `dropped` are final as well: the edge wants no more of these.
  const rejected = told_.error ? batch : told_.rejected;
  if (rejected) count('rejected', rejected.length);
};

/** Sends all that this page still has at once, as much as may be in flight when it is left; in a pause what nothing else keeps. */
const sendNow = (isLeaving?: boolean): void => {
  const isPaused = pauseMs() > 0;
  if ((isPaused && (isPauseAsked || !isLeaving)) || !navigator.onLine) return;
  let room = LEAVING_BYTES_MAX - flyingBytes;
  let rest = unsent().filter(([key]) => !(isPaused && stored.has(key)));
  for (;;) {
    const [batch, bytes] = cutBatch(rest, Math.min(room, BATCH_BYTES_MAX));
    if (!batch[0] || bytes > room) return;
    rest = rest.slice(batch.length);
    room -= bytes;
    send(batch, bytes, isLeaving)
      .then(() => waitingHere.size && wake())
      .catch(() => undefined);
  }
};
