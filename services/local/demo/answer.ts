import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { DemoRequest } from './world/event.ts';

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

const TALLY = Type.Object({
  accepted: Type.Optional(Type.Integer({ minimum: 0 })),
  dropped: Type.Optional(Type.Integer({ minimum: 0 })),
  rejected: Type.Optional(Type.Array(Type.Unknown())),
  error: Type.Optional(Type.Object({ code: Type.String() })),
});
type Tally = Static<typeof TALLY>;

const RETRIED_STATUSES = new Set([429, 502, 503, 504]);
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;
/** A server that asks for more than this is not waited for any longer than this. */
const LONGEST_ASKED_WAIT_MS = 60_000;

/** Retry-After in milliseconds from now: delta seconds or an HTTP date (RFC 9110, section 10.2.3); null when neither. */
export function readRetryAfter(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^\s*\d+\s*$/.test(header)) return Math.min(Number(header) * 1000, LONGEST_ASKED_WAIT_MS);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.min(Math.max(date - nowMs, 0), LONGEST_ASKED_WAIT_MS);
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

function readTally(body: string): Tally | null {
  try {
    const value: unknown = JSON.parse(body);
    return Value.Check(TALLY, value) ? value : null;
  } catch {
    return null;
  }
}

/** Compares the final reply with what the world expects of the request. */
export function judge(request: DemoRequest, reply: Reply, tries: number): RequestOutcome {
  const none = { eventCount: request.eventCount, accepted: 0, rejected: 0, dropped: 0, tries };
  if (reply.kind === 'no_answer') return { ...none, status: null, surprise: `no answer (${reply.reason})` };
  const tally = readTally(reply.body);
  if (tally === null)
    return { ...none, status: reply.status, surprise: `${reply.status} with a body that is not the documented one` };
  const counts = { accepted: tally.accepted ?? 0, rejected: tally.rejected?.length ?? 0, dropped: tally.dropped ?? 0 };
  return {
    ...none,
    ...counts,
    status: reply.status,
    surprise: surpriseOf(request, reply.status, counts, tally.error?.code),
  };
}

function surpriseOf(
  { expect }: DemoRequest,
  status: number,
  counts: Pick<RequestOutcome, 'accepted' | 'rejected' | 'dropped'>,
  code: string | undefined,
): string | null {
  if (status !== expect.status) return `${status}${code === undefined ? '' : ` ${code}`} instead of ${expect.status}`;
  const differing = (['accepted', 'rejected', 'dropped'] as const).find((name) => counts[name] !== expect[name]);
  return differing === undefined ? null : `${differing} ${counts[differing]} instead of ${expect[differing]}`;
}
