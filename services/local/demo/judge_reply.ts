import type { DemoRequest } from './world/demo_event.ts';

export type Reply =
  | { kind: 'answered'; status: number; retryAfter: string | null; body: string }
  | { kind: 'no_answer'; reason: string };

/** What one request came to. `surprise` says in what the answer differs from the world's expectation; null when in nothing. */
export interface RequestOutcome {
  status: number | null;
  /** Events in the request. */
  eventCount: number;
  accepted: number;
  rejected: number;
  dropped: number;
  tries: number;
  surprise: string | null;
}

const RETRIED_STATUSES = new Set([429, 502, 503, 504]);
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;
/** A server that asks for more than this is not waited for any longer than this. */
const LONGEST_ASKED_WAIT_MS = 60_000;

/** Retry-After in milliseconds from now: delta seconds or an HTTP date (RFC 9110, section 10.2.3); null when neither. */
export function readRetryAfter(header: string | null, nowMs: number): number | null {
  const seconds = /^\s*(\d+)\s*$/.exec(header ?? '')?.[1];
  const ms = seconds === undefined ? Date.parse(header ?? '') - nowMs : Number(seconds) * 1000;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), LONGEST_ASKED_WAIT_MS);
}

/**
 * How long to wait before the same request is sent again; null when the reply is final. Waits double from 100 ms to 2 s
 * with half of each left to chance, unless the server names one, to which up to 250 ms are added.
 *
 * @param tries how often it has been sent, from 1
 * @param random uniform in [0, 1)
 */
export function retryDelayMs(reply: Reply, tries: number, nowMs: number, random: number): number | null {
  if (reply.kind === 'answered' && !RETRIED_STATUSES.has(reply.status)) return null;
  const asked = reply.kind === 'answered' ? readRetryAfter(reply.retryAfter, nowMs) : null;
  if (asked !== null) return asked + random * 250;
  return Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), LONGEST_WAIT_MS) * (0.5 + random / 2);
}

/** Compares the final reply with what the world expects of the request. */
export function judge({ eventCount, expect }: DemoRequest, reply: Reply, tries: number): RequestOutcome {
  const none = { eventCount, accepted: 0, rejected: 0, dropped: 0, tries };
  if (reply.kind === 'no_answer') return { ...none, status: null, surprise: `no answer (${reply.reason})` };
  const { status } = reply;
  const body = readBody(reply.body);
  if (body === null) return { ...none, status, surprise: `${status} with a body that is not the documented one` };
  const counts = { accepted: body.accepted ?? 0, rejected: body.rejected?.length ?? 0, dropped: body.dropped ?? 0 };
  const differing = (['accepted', 'rejected', 'dropped'] as const).find((name) => counts[name] !== expect[name]);
  const code = body.error === undefined ? '' : ` ${body.error.code}`;
  let surprise: string | null = null;
  if (status !== expect.status) surprise = `${status}${code} instead of ${expect.status}`;
  else if (differing !== undefined) surprise = `${differing} ${counts[differing]} instead of ${expect[differing]}`;
  return { ...none, ...counts, status, surprise };
}

/** An answer of the edge (docs/sending.md). */
interface Body {
  accepted?: number;
  dropped?: number;
  rejected?: unknown[];
  error?: { code: string };
}

function readBody(text: string): Body | null {
  try {
    return JSON.parse(text) as Body;
  } catch {
    return null;
  }
}
