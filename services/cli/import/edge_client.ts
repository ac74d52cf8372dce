// Sends batches of events to the edge until it has answered each, and says what became of them.

import { objectIn } from '../read.ts';
import type { OutgoingEvent } from './row_event.ts';

/** What the edge takes in a request: docs/sending.md. */
export const EVENTS_MAX = 50;
export const BODY_BYTES_MAX = 256 * 1024;

export interface EdgeAnswer {
  status: number;
  /** In seconds. */
  retryAfter: string | null;
  body: string;
}

/** Carries one request to `POST /v1/ingest`; null where there was no answer. */
export type PostEvents = (body: string) => Promise<EdgeAnswer | null>;

interface RejectedEvent {
  index: number;
  code: string;
  message: string;
}

/** What became of a batch: some of it may be rejected, over the month's allowance, or filtered (robots, block rules). */
export interface Sent {
  accepted: number;
  rejected: readonly RejectedEvent[];
  dropped: number;
}

/** The edge refuses all that is sent, or is away for long: what was not sent is sent by the next run. */
export class SendError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

type Verdict =
  | { kind: 'sent'; sent: Sent }
  | { kind: 'again'; afterMs: number | null; code: string }
  | { kind: 'refused'; code: string };

/**
 * What an answer to so many events means. A request without an answer, with one of 429, 408 or 5xx, or with one of somebody else (a
 * proxy, a captive portal), is sent again as it is: each event counts once.
 */
export function readAnswer(answer: EdgeAnswer | null, count: number): Verdict {
  if (answer === null) return { kind: 'again', afterMs: null, code: 'edge_unavailable' };
  const { status, retryAfter } = answer;
  const body = objectIn(answer.body) ?? {};
  const code = codeOf(body) ?? `status_${status}`;
  const isRejected = status === 400 && code === 'events_rejected';
  const sent = status === 200 ? sentOf(body, count) : isRejected ? sentOf({ ...body, accepted: 0 }, count) : null;
  if (sent !== null) return { kind: 'sent', sent };
  if (status === 429 || status === 408 || status >= 500) {
    const seconds = Number(retryAfter ?? Number.NaN);
    return { kind: 'again', afterMs: Number.isNaN(seconds) ? null : Math.max(0, seconds * 1000), code };
  }
  const isForeign = status < 400 || isRejected || codeOf(body) === null;
  return isForeign ? { kind: 'again', afterMs: null, code: 'answer_foreign' } : { kind: 'refused', code };
}

function codeOf({ error }: Record<string, unknown>): string | null {
  const code: unknown = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : null;
}

/** Null for what is no answer of the edge to so many events. */
function sentOf({ accepted, dropped = 0, rejected = [] }: Record<string, unknown>, count: number): Sent | null {
  if (!isCount(accepted) || !isCount(dropped) || !Array.isArray(rejected)) return null;
  const events = rejected as RejectedEvent[];
  const places = new Set(events.filter(({ index }) => isCount(index) && index < count).map(({ index }) => index));
  if (places.size !== events.length || accepted + dropped + events.length > count) return null;
  return { accepted, dropped, rejected: events };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const PAUSE_FIRST_MS = 500;
const PAUSE_MS_MAX = 30_000;
/** A Retry-After beyond this is that of something else than the edge. */
const RETRY_AFTER_MS_MAX = 300_000;

/** What a sender waits with, and for how many attempts without an answer that says when to come again. */
export interface SendPorts {
  post: PostEvents;
  sleep(ms: number): Promise<void>;
  /** Told that a batch has to wait. */
  onWait(code: string, ms: number): void;
  attemptsMax: number;
  /** Resolves when so many events may be sent; absent: whenever the edge takes them. */
  pace?: (events: number) => Promise<void>;
}

/** Spreads events over time, so that the edge has room for others: `perSecond` of them at the most. */
export function createPacer(
  perSecond: number,
  { nowMs, sleep }: { nowMs(): number; sleep(ms: number): Promise<void> },
): (events: number) => Promise<void> {
  let nextAtMs = 0;
  return async (events) => {
    const beganAtMs = nowMs();
    const fromMs = Math.max(nextAtMs, beganAtMs);
    nextAtMs = fromMs + (events / perSecond) * 1000;
    if (fromMs > beganAtMs) await sleep(fromMs - beganAtMs);
  };
}

/**
 * Sends events until they are answered.
 *
 * @param isHistorical They are of the past.
 * @throws SendError where the edge refuses them, or does not take them for long
 */
export async function sendEvents(
  events: readonly OutgoingEvent[],
  ports: SendPorts,
  isHistorical = false,
): Promise<Sent> {
  const body = JSON.stringify(isHistorical ? { historical_migration: true, events } : { events });
  for (let attempts = 1; ; ) {
    await ports.pace?.(events.length);
    const verdict = readAnswer(await ports.post(body), events.length);
    if (verdict.kind === 'sent') return verdict.sent;
    if (verdict.kind === 'refused') throw new SendError(verdict.code, `the edge refuses the events: ${verdict.code}`);
    if (verdict.afterMs === null || verdict.code !== 'rate_limited') attempts++;
    if (attempts > ports.attemptsMax) {
      throw new SendError(
        verdict.code,
        `the edge did not take the events in ${ports.attemptsMax} attempts: ${verdict.code}`,
      );
    }
    const pauseMs = verdict.afterMs ?? Math.min(PAUSE_MS_MAX, PAUSE_FIRST_MS * 2 ** (attempts - 1));
    ports.onWait(verdict.code, pauseMs);
    await ports.sleep(Math.min(RETRY_AFTER_MS_MAX, pauseMs));
  }
}

const ANSWER_MS_MAX = 60_000;

/** Over HTTP, with the server key of a site. */
export function httpEdge(url: string, key: string): PostEvents {
  const target = new URL('/v1/ingest', url);
  const headers = { 'content-type': 'application/json', 'x-svc-key': key };
  return async (body) => {
    try {
      const signal = AbortSignal.timeout(ANSWER_MS_MAX);
      // A redirect that is followed would take the key to whoever a portal names.
      const response = await fetch(target, { method: 'POST', headers, body, signal, redirect: 'manual' });
      return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.text() };
    } catch {
      // Refused, reset, too slow: the same is sent again.
      return null;
    }
  };
}
