// The queue's way out: one request at a time, oldest events first, each kept until the service has answered for it.

import { type Entry, entryOf, readEntry, type SentEvent } from './event.ts';
import { type Post, type PostOptions, post, type RetryOptions, type Verdict, waitMs } from './post.ts';
import type { DeliveryCode, Report } from './problems.ts';
import type { Runtime, Timer } from './runtime.ts';

/** What keeps events beyond the process. `openJournal` of the entry point `/journal` makes one. */
export interface Journal {
  /**
   * Takes the journal for one client.
   *
   * @returns The events that were not acknowledged before, as JSON, oldest first.
   * @throws ClientError `journal_taken`.
   */
  attach(onProblem: (code: DeliveryCode) => void): readonly { uuid: string; json: string }[];
  /** Writes an event. That it cannot is told to `onProblem`. */
  append(entry: { uuid: string; json: string }): void;
  /** Whether an event that was not acknowledged is there for the next process. */
  holds(uuid: string): boolean;
  /** These are no longer to be sent. */
  acknowledge(uuids: readonly string[]): void;
  /** Makes what was written safe and lets the folder go. */
  close(): void;
}

export interface SenderOptions {
  post: PostOptions;
  retry: RetryOptions;
  /** A request goes out once so many events, or bytes of them, wait, or after so long. It holds no more. */
  flushAt: number;
  flushBytes: number;
  flushIntervalMs: number;
  queueEventsMax: number;
  queueBytesMax: number;
}

export interface FlushResult {
  /** Whether the service answered for every event that was tracked before. */
  ok: boolean;
  /** Events that wait. After `shutdown`: those that the journal keeps, or that were given up and reported. */
  pending: number;
}

/** After so many answers 500 in a row to the same events, fewer of them are sent together; then one alone is given up. */
const SUSPECT_ANSWERS_MAX = 3;
const SUSPECT_ANSWERS_ALONE_MAX = 20;

interface Waiter {
  /** Resolved once so many events are settled, counted from the client's first. */
  upTo: number;
  done(ok: boolean): void;
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #runtime: Runtime;
  readonly #report: Report;
  readonly #journal: Journal | undefined;
  readonly #queue: Queue;
  /** Events taken and settled since the client was made, and up to which they are to be sent without waiting for more. */
  #taken = 0;
  #settled = 0;
  #dueUpTo = 0;
  #request: Post | null = null;
  #interval: Timer | null = null;
  /** Until the next request may go out; `asked`: until when somebody else wants it so. */
  #pause: { timer: Timer; askedUntilMs: number | null } | null = null;
  #attempts = 0;
  #suspectAnswers = 0;
  /** Events of the next request, at the most. */
  #batchMax: number;
  #waiters: Waiter[] = [];
  #hasEnded = false;

  constructor(options: SenderOptions, runtime: Runtime, report: Report, journal: Journal | undefined) {
    this.#options = options;
    this.#runtime = runtime;
    this.#report = report;
    this.#journal = journal;
    this.#queue = createQueue(options.queueEventsMax, options.queueBytesMax);
    this.#batchMax = options.flushAt;
    const left = journal?.attach((code) => report.problem(code, { willRetry: code === 'journal_failed' })) ?? [];
    for (const { uuid, json } of left) this.#enqueue(entryOf(uuid, json));
    // What a process before left has waited long enough.
    this.#dueUpTo = this.#taken;
    this.#advance();
  }

  get pending(): number {
    return this.#queue.length;
  }

  /** Takes an event; false where the queue is full. With a journal it is in the file when this returns. */
  take(entry: Entry): boolean {
    if (!this.#queue.hasRoom(entry.bytes)) return false;
    this.#journal?.append(entry);
    this.#enqueue(entry);
    this.#advance();
    return true;
  }

  #enqueue(entry: Entry): void {
    this.#queue.add(entry);
    this.#taken += 1;
  }

  /** Sends what was taken so far; resolves when the service has answered for it, or at the deadline. */
  flush(deadlineMs: number): Promise<FlushResult> {
    this.#dueUpTo = this.#taken;
    this.#interval?.cancel();
    this.#interval = null;
    if (this.#settled >= this.#taken) return Promise.resolve({ ok: true, pending: 0 });
    if (this.#hasEnded) return Promise.resolve({ ok: false, pending: this.pending });
    return new Promise((resolve) => {
      const done = (ok: boolean): void => {
        timer.cancel();
        this.#waiters = this.#waiters.filter((one) => one !== waiter);
        this.#pause?.timer.hold(this.#waiters.length > 0);
        resolve({ ok, pending: this.pending });
      };
      const waiter: Waiter = { upTo: this.#taken, done };
      const timer = this.#runtime.schedule(deadlineMs, () => done(false));
      // Somebody waits: the process must not end for want of anything else to do.
      timer.hold(true);
      this.#pause?.timer.hold(true);
      this.#waiters.push(waiter);
      this.#advance();
    });
  }

  /** A last flush, which sits out neither a pause of its own nor one beyond the deadline; then the journal keeps what is left, or it is given up. */
  async end(deadlineMs: number): Promise<FlushResult> {
    if (this.#pause?.askedUntilMs === null) this.#resume();
    const isVain = (this.#pause?.askedUntilMs ?? 0) > this.#runtime.nowMs() + deadlineMs;
    if (!isVain) await this.flush(deadlineMs);
    this.#hasEnded = true;
    this.#request?.abort();
    this.#interval?.cancel();
    this.#pause?.timer.cancel();
    const left = this.#queue.head(this.#queue.length, Number.POSITIVE_INFINITY);
    // What a full disk did not take ends with the process.
    const lost = left.filter(({ uuid }) => this.#journal?.holds(uuid) !== true);
    if (lost.length > 0) this.#report.problem('shutdown_deadline', { events: lost.map(readEntry) });
    this.#journal?.close();
    return { ok: left.length === 0, pending: left.length };
  }

  #resume(): void {
    this.#pause?.timer.cancel();
    this.#pause = null;
    this.#advance();
  }

  /** Sends, if something is due and nothing forbids it; else sees to it that it will be. */
  #advance(): void {
    if (this.#hasEnded || this.#request !== null || this.#pause !== null || this.#queue.length === 0) return;
    const { flushAt, flushBytes, flushIntervalMs } = this.#options;
    const isDue = this.#settled < this.#dueUpTo || this.#queue.length >= flushAt || this.#queue.bytes >= flushBytes;
    if (isDue) void this.#send();
    else
      this.#interval ??= this.#runtime.schedule(flushIntervalMs, () => {
        this.#interval = null;
        this.#dueUpTo = this.#taken;
        this.#advance();
      });
  }

  async #send(): Promise<void> {
    const batch = this.#queue.head(this.#batchMax, this.#options.flushBytes);
    this.#request = post(batch, this.#options.post, this.#runtime);
    const verdict = await this.#request.verdict;
    this.#request = null;
    // Cut off at the deadline: it has been said what became of its events.
    if (this.#hasEnded) return;
    this.#act(batch, verdict);
    this.#advance();
  }

  #act(batch: readonly Entry[], verdict: Verdict): void {
    switch (verdict.kind) {
      case 'answered':
        this.#settle(batch);
        this.#batchMax = Math.min(this.#options.flushAt, this.#batchMax * 2);
        this.#tell(batch, verdict);
        break;
      case 'split':
        if (batch.length === 1) this.#giveUp(batch, verdict.code, verdict.detail);
        else this.#batchMax = Math.ceil(batch.length / 2);
        break;
      case 'refused':
        // A site may be opened again, and the next start may have another key: what the journal keeps can wait.
        if (verdict.code === 'key_refused' && this.#journal !== undefined) this.#holdBack(batch, verdict.detail);
        else this.#giveUp(batch, verdict.code, verdict.detail);
        break;
      case 'retry':
        this.#suspectAnswers = verdict.isSuspect ? this.#suspectAnswers + 1 : 0;
        if (batch.length === 1 && this.#suspectAnswers >= SUSPECT_ANSWERS_ALONE_MAX) {
          this.#giveUp(batch, verdict.code, verdict.detail);
        } else this.#retry(batch, verdict);
        break;
    }
  }

  #retry(batch: readonly Entry[], { code, detail, afterMs }: Verdict & { kind: 'retry' }): void {
    this.#attempts += 1;
    if (this.#suspectAnswers >= SUSPECT_ANSWERS_MAX) this.#batchMax = Math.ceil(batch.length / 2);
    const ms = waitMs(this.#attempts, afterMs, this.#runtime.random(), this.#options.retry);
    const timer = this.#runtime.schedule(ms, () => this.#resume());
    timer.hold(this.#waiters.length > 0);
    this.#pause = { timer, askedUntilMs: afterMs === null ? null : this.#runtime.nowMs() + ms };
    this.#report.problem(code, { detail, willRetry: true });
  }

  /** Asks seldom: the same key is mostly refused again. */
  #holdBack(batch: readonly Entry[], detail: string | null): void {
    const afterMs = this.#options.retry.retryAfterMaxMs;
    this.#retry(batch, { kind: 'retry', code: 'key_refused', detail, afterMs, isSuspect: false });
    for (const { done } of [...this.#waiters]) done(false);
  }

  #giveUp(batch: readonly Entry[], code: DeliveryCode, detail: string | null): void {
    this.#settle(batch);
    this.#report.problem(code, { detail, events: batch.map(readEntry) });
  }

  /** The batch is the oldest of the queue. */
  #settle(batch: readonly Entry[]): void {
    this.#queue.remove(batch.length);
    this.#journal?.acknowledge(batch.map(({ uuid }) => uuid));
    this.#settled += batch.length;
    this.#attempts = 0;
    this.#suspectAnswers = 0;
    for (const { done } of this.#waiters.filter(({ upTo }) => upTo <= this.#settled)) done(true);
  }

  #tell(batch: readonly Entry[], { rejected, overQuota, filtered }: Verdict & { kind: 'answered' }): void {
    const events: (SentEvent | null)[] = batch.map((entry) =>
      rejected.length + overQuota + filtered > 0 ? readEntry(entry) : null,
    );
    for (const { index, code, message } of rejected) {
      const event = events[index];
      if (event) this.#report.rejected({ event, code, message });
      events[index] = null;
    }
    const others = events.filter((event) => event !== null);
    // The service drops the last events of a request; which it filters it does not say.
    const dropped = filtered === 0 ? others.slice(others.length - overQuota) : others;
    if (overQuota > 0) this.#report.dropped({ reason: 'quota', count: overQuota, events: dropped });
    if (filtered > 0) this.#report.dropped({ reason: 'filtered', count: filtered, events: others });
  }
}

/** Consumed entries are cut off once there are so many of them. */
const CONSUMED_MAX = 1024;

/** Events that wait, oldest first, bounded in number and bytes. */
interface Queue {
  readonly length: number;
  /** Of the events as JSON. */
  readonly bytes: number;
  /** Whether one more of so many bytes would be within the bounds. */
  hasRoom(bytes: number): boolean;
  add(entry: Entry): void;
  /** The oldest that fit a request, one at least where there is any; they stay. */
  head(eventsMax: number, bytesMax: number): readonly Entry[];
  /** Removes the oldest. */
  remove(count: number): void;
}

/** @param eventsMax What is there before, as by a journal, may be beyond the bounds; then nothing is added. */
export function createQueue(eventsMax: number, bytesMax: number): Queue {
  let entries: Entry[] = [];
  let first = 0;
  let bytes = 0;
  return {
    get length() {
      return entries.length - first;
    },
    get bytes() {
      return bytes;
    },
    hasRoom: (more) => entries.length - first < eventsMax && bytes + more <= bytesMax,
    add(entry) {
      entries.push(entry);
      bytes += entry.bytes;
    },
    head(countMax, headBytesMax) {
      let end = first;
      for (let sum = 0; end < entries.length && end - first < countMax; end += 1) {
        // The comma, too.
        sum += (entries[end]?.bytes ?? 0) + 1;
        if (sum > headBytesMax && end > first) break;
      }
      return entries.slice(first, end);
    },
    remove(count) {
      for (const entry of entries.slice(first, first + count)) bytes -= entry.bytes;
      first = Math.min(first + count, entries.length);
      if (first < CONSUMED_MAX && first < entries.length) return;
      entries = entries.slice(first);
      first = 0;
    },
  };
}
