import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { webEvents } from '../edge/body.ts';

export interface SendOptions {
  edge: string;
  key: string;
  eventsPerSecond: number;
  durationMs: number;
  /** Of each request of which `probeEveryMs` has passed since the last one, one event has this name and is looked for. */
  probe: string;
  probeEveryMs: number;
}

export interface SendResult {
  accepted: number;
  /** Statuses other than 200, counted. */
  failures: Record<string, number>;
  seconds: number;
  /** By the id of each probe, when its request was begun (performance.now). */
  probes: Map<string, number>;
}

const EVENTS_PER_REQUEST_MAX = 50;
/** At least so many requests a second, so that a low rate is not sent in a few large ones. */
const REQUESTS_PER_SECOND_MIN = 40;
const CONNECTIONS = 64;

/** Sends events at a rate, whether earlier requests are answered or not, and waits for every answer. */
export async function sendAtRate(options: SendOptions): Promise<SendResult> {
  const { eventsPerSecond, durationMs } = options;
  const perRequest = Math.max(
    1,
    Math.min(EVENTS_PER_REQUEST_MAX, Math.floor(eventsPerSecond / REQUESTS_PER_SECOND_MIN)),
  );
  const pool = new Pool(options.edge, { connections: CONNECTIONS, pipelining: 1 });
  const result: SendResult = { accepted: 0, failures: {}, seconds: 0, probes: new Map() };
  const open = new Set<Promise<void>>();
  const startedMs = performance.now();
  let sent = 0;
  let probedMs = Number.NEGATIVE_INFINITY;

  async function sendOne(body: string): Promise<void> {
    const { statusCode, body: answer } = await pool.request({
      path: '/v1/ingest',
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-svc-key': options.key },
      body,
    });
    const { accepted } = (await answer.json()) as { accepted?: number };
    result.accepted += accepted ?? 0;
    if (statusCode !== 200) result.failures[statusCode] = (result.failures[statusCode] ?? 0) + 1;
  }

  function nextBody(nowMs: number): string {
    const events = webEvents(perRequest);
    if (nowMs - probedMs >= options.probeEveryMs) {
      probedMs = nowMs;
      const uuid = randomUUID();
      events[events.length - 1] = { ...events.at(-1), event: options.probe, uuid };
      result.probes.set(uuid, nowMs);
    }
    return JSON.stringify({ events });
  }

  for (;;) {
    const passedMs = performance.now() - startedMs;
    if (passedMs >= durationMs) break;
    while (sent < (eventsPerSecond * passedMs) / 1_000) {
      const sending = sendOne(nextBody(performance.now())).finally(() => open.delete(sending));
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
