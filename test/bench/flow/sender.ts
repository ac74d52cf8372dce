import { randomUUID } from 'node:crypto';
import { type LoadResult, type Outgoing, sendAtRate } from '../load.ts';
import { serverEvents, serverTraffic } from '../traffic.ts';

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

const EVENTS_PER_REQUEST_MAX = 50;
/** At least so many requests a second, so that a low rate is not sent in a few large ones. */
const REQUESTS_PER_SECOND_MIN = 40;

/** Sends events of a server at a rate, with some that are looked for. `accepted` is what the edge says of them. */
export async function sendWithProbes(options: SendOptions): Promise<LoadResult & { accepted: number }> {
  const { edge: url, key, eventsPerSecond, durationMs, probes } = options;
  const perRequest = Math.max(
    1,
    Math.min(EVENTS_PER_REQUEST_MAX, Math.floor(eventsPerSecond / REQUESTS_PER_SECOND_MIN)),
  );
  const plain = serverTraffic(key, perRequest);
  let accepted = 0;
  let probedMs = Number.NEGATIVE_INFINITY;

  /** `probe`: the id of the event that is looked for, where it has one. */
  function traffic(): Outgoing & { probe?: string } {
    const nowMs = performance.now();
    if (nowMs - probedMs < options.probeEveryMs) return plain();
    probedMs = nowMs;
    const probe = randomUUID();
    probes.set(probe, nowMs);
    const events = serverEvents(perRequest);
    events[events.length - 1] = { ...events.at(-1), event: options.probe, uuid: probe };
    return { ...plain(), body: Buffer.from(JSON.stringify({ events })), probe };
  }

  const result = await sendAtRate({
    ...{ url, traffic, durationMs, eventsPerSecond },
    onAnswer({ probe }, { outcome, text }) {
      if (outcome === '200') accepted += (JSON.parse(text) as { accepted: number }).accepted;
      else if (probe !== undefined) probes.delete(probe);
    },
  });
  return { ...result, accepted };
}
