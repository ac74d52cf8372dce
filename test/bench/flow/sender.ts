import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { bodyMaker, webEvents } from '../edge/body.ts';
import { post } from '../post.ts';

export interface SendOptions {
  edge: string;
  key: string;
  eventsPerSecond: number;
  durationMs: number;
  /** The name of an event that one request in `probeEveryMs` has at its end, to be looked for. */
  probe: string;
  probeEveryMs: number;
  /** Gets by the id of each probe when its request was begun (performance.now); one that failed is taken out. */
  probes: Map<string, number>;
}

export interface SendResult {
  accepted: number;
  /** Statuses other than 200 and errors, counted. */
  failures: Record<string, number>;
  seconds: number;
}

interface Request {
  body: string | Buffer;
  /** The id of the event that is looked for, where it has one. */
  probe: string | null;
}

const EVENTS_PER_REQUEST_MAX = 50;
/** At least so many requests a second, so that a low rate is not sent in a few large ones. */
const REQUESTS_PER_SECOND_MIN = 40;
const CONNECTIONS = 64;

/** Sends events at a rate, whether earlier requests are answered or not, and waits for every answer. */
export async function sendAtRate(options: SendOptions): Promise<SendResult> {
  const { eventsPerSecond, durationMs, probes } = options;
  const perRequest = Math.max(
    1,
    Math.min(EVENTS_PER_REQUEST_MAX, Math.floor(eventsPerSecond / REQUESTS_PER_SECOND_MIN)),
  );
  const pool = new Pool(options.edge, { connections: CONNECTIONS, pipelining: 1 });
  const result: SendResult = { accepted: 0, failures: {}, seconds: 0 };
  const open = new Set<Promise<void>>();
  const startedMs = performance.now();
  const makeBody = bodyMaker(perRequest);
  let sent = 0;
  let probedMs = Number.NEGATIVE_INFINITY;

  const headers = { 'content-type': 'application/json', 'x-svc-key': options.key };

  async function sendOne({ body, probe }: Request): Promise<void> {
    const { status, text } = await post(pool, '/v1/ingest', headers, body);
    const { accepted } = JSON.parse(text) as { accepted?: number };
    result.accepted += accepted ?? 0;
    if (status !== 200) fail(String(status), probe);
  }

  function fail(why: string, probe: string | null): void {
    result.failures[why] = (result.failures[why] ?? 0) + 1;
    if (probe !== null) probes.delete(probe);
  }

  function nextRequest(nowMs: number): Request {
    if (nowMs - probedMs < options.probeEveryMs) return { body: makeBody(), probe: null };
    probedMs = nowMs;
    const probe = randomUUID();
    probes.set(probe, nowMs);
    const events = webEvents(perRequest);
    events[events.length - 1] = { ...events.at(-1), event: options.probe, uuid: probe };
    return { body: JSON.stringify({ events }), probe };
  }

  for (;;) {
    const passedMs = performance.now() - startedMs;
    if (passedMs >= durationMs) break;
    while (sent < (eventsPerSecond * passedMs) / 1_000) {
      const request = nextRequest(performance.now());
      const sending = sendOne(request)
        .catch((error: unknown) => fail(String(error), request.probe))
        .finally(() => open.delete(sending));
      open.add(sending);
      sent += perRequest;
    }
    await sleep(5);
  }
  result.seconds = (performance.now() - startedMs) / 1_000;
  await Promise.all(open);
  await pool.close();
  return result;
}
