import { gzipSync } from 'node:zlib';
import { Pool } from 'undici';
import type { DemoSite } from '../start/demo_settings.ts';
import { judge, type Reply, type RequestOutcome, retryDelayMs } from './judge_reply.ts';
import type { DemoRequest, SiteSlot } from './world/demo_event.ts';

export interface SenderOptions {
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

/** `code` is `edge_away`: one request could not be placed in all the time allowed, so the others will not be either. */
export class EdgeAwayError extends Error {
  readonly code = 'edge_away';
}

const REPLY_TIMEOUT_MS = 15_000;

interface WireForm {
  path: string;
  headers: Record<string, string>;
  body: string | Buffer;
}

/** Adds the key and packs the body. Made once a request, so that every try sends the same bytes. */
function wireForm(request: DemoRequest, site: SenderOptions['sites'][SiteSlot]): WireForm {
  const key = request.caller === 'browser' ? site.browserKey : site.serverKey;
  const packed = request.headers['content-encoding'] === 'gzip';
  return {
    path: request.keyIn === 'query' ? `/v1/ingest?key=${encodeURIComponent(key)}` : '/v1/ingest',
    headers: request.keyIn === 'query' ? request.headers : { ...request.headers, 'x-svc-key': key },
    body: packed ? gzipSync(request.body) : request.body,
  };
}

async function post(pool: Pool, form: WireForm): Promise<Reply> {
  try {
    const { statusCode, headers, body } = await pool.request({ ...form, method: 'POST' });
    const text = await body.text();
    const after = headers['retry-after'];
    return { kind: 'answered', status: statusCode, retryAfter: typeof after === 'string' ? after : null, body: text };
  } catch (error) {
    // The edge may be restarting: whatever the socket's complaint, the same events may be sent again.
    return { kind: 'no_answer', reason: error instanceof Error && 'code' in error ? String(error.code) : 'unknown' };
  }
}

function awayMessage(reply: Reply, tries: number): string {
  const last = reply.kind === 'answered' ? `answered ${reply.status}` : `gave no answer (${reply.reason})`;
  return `the edge has not taken a request in ${tries} tries; it last ${last}`;
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
    const delayMs = retryDelayMs(reply, tries, options.now(), options.random());
    if (delayMs === null) return judge(request, reply, tries);
    if (isOver() || options.now() + delayMs - startedAt > options.giveUpAfterMs)
      throw new EdgeAwayError(awayMessage(reply, tries));
    await options.wait(delayMs);
  }
}

/**
 * Sends all requests, in order, a number of them at once over kept-alive connections; resolves when each has its outcome.
 *
 * @throws EdgeAwayError
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
