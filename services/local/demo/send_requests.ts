import { gzipSync } from 'node:zlib';
import { Pool } from 'undici';
import type { DemoSite } from '../start/demo_settings.ts';
import { DemoError } from './config.ts';
import type { DemoRequest, SiteSlot } from './world/demo_event.ts';

interface SenderOptions {
  edge: string;
  sites: Record<SiteSlot, Pick<DemoSite, 'browserKey' | 'serverKey'>>;
  /** Requests in flight. */
  concurrency: number;
  /** How long one request is tried before the edge counts as away. */
  giveUpAfterMs: number;
  /** Uniform in [0, 1), for the spread of waits. */
  random: () => number;
  wait: (ms: number) => Promise<void>;
  now: () => number;
  onOutcome: (outcome: RequestOutcome, request: DemoRequest) => void;
}

const REPLY_TIMEOUT_MS = 15_000;

/** Adds the key and packs the body. Made once a request, so that every try sends the same bytes. */
function wireForm(request: DemoRequest, site: SenderOptions['sites'][SiteSlot]) {
  const key = request.caller === 'browser' ? site.browserKey : site.serverKey;
  const packed = request.headers['content-encoding'] === 'gzip';
  return {
    path: request.keyIn === 'query' ? `/v1/ingest?key=${encodeURIComponent(key)}` : '/v1/ingest',
    headers: request.keyIn === 'query' ? request.headers : { ...request.headers, 'x-svc-key': key },
    body: packed ? gzipSync(request.body) : request.body,
  };
}

async function post(pool: Pool, form: ReturnType<typeof wireForm>): Promise<Reply> {
  try {
    const { statusCode, headers, body } = await pool.request({ ...form, method: 'POST' });
    const text = await body.text();
    const after = Number(headers['retry-after'] ?? Number.NaN);
    return { kind: 'answered', status: statusCode, retryAfterS: Number.isNaN(after) ? null : after, body: text };
  } catch (error) {
    // The edge may be restarting: whatever the socket's complaint, the same events may be sent again.
    return { kind: 'no_answer', reason: error instanceof Error && 'code' in error ? String(error.code) : 'unknown' };
  }
}

async function sendOne(
  pool: Pool,
  request: DemoRequest,
  options: SenderOptions,
  isOver: () => boolean,
): Promise<RequestOutcome> {
  const form = wireForm(request, options.sites[request.siteSlot]);
  const startedAt = options.now();
  for (let tries = 1; ; tries++) {
    const reply = await post(pool, form);
    const delayMs = retryDelayMs(reply, tries, options.random());
    if (delayMs === null) return judge(request, reply, tries);
    if (isOver() || options.now() + delayMs - startedAt > options.giveUpAfterMs) {
      const last = reply.kind === 'answered' ? `answered ${reply.status}` : `gave no answer (${reply.reason})`;
      throw new DemoError('edge_away', `the edge has not taken a request in ${tries} tries; it last ${last}`);
    }
    await options.wait(delayMs);
  }
}

/**
 * Sends all requests, in order, a number of them at once over kept-alive connections; resolves when each has its outcome.
 *
 * @throws DemoError when one request could not be placed in all the time allowed, so the others will not be either
 */
export async function sendAll(requests: readonly DemoRequest[], options: SenderOptions): Promise<void> {
  const pool = new Pool(new URL(options.edge).origin, {
    connections: options.concurrency,
    headersTimeout: REPLY_TIMEOUT_MS,
    bodyTimeout: REPLY_TIMEOUT_MS,
  });
  const queue = [...requests].toReversed();
  let over = false;
  const work = async (): Promise<void> => {
    for (let request = queue.pop(); request !== undefined; request = queue.pop()) {
      options.onOutcome(await sendOne(pool, request, options, () => over), request);
    }
  };
  try {
    await Promise.all(Array.from({ length: options.concurrency }, work));
  } finally {
    over = true;
    queue.length = 0;
    await pool.destroy();
  }
}

export type Reply =
  | { kind: 'answered'; status: number; retryAfterS: number | null; body: string }
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
const LONGEST_ASKED_WAIT_S = 60;

/**
 * How long to wait before the same request is sent again; null when the reply is final. Waits double from 100 ms to 2 s
 * with half of each left to chance, unless the edge names one, to which up to 250 ms are added.
 *
 * @param tries how often it has been sent, from 1
 * @param random uniform in [0, 1)
 */
export function retryDelayMs(reply: Reply, tries: number, random: number): number | null {
  if (reply.kind === 'answered' && !RETRIED_STATUSES.has(reply.status)) return null;
  if (reply.kind === 'answered' && reply.retryAfterS !== null)
    return Math.min(reply.retryAfterS, LONGEST_ASKED_WAIT_S) * 1000 + random * 250;
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
