import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '#services/local/demo/world/random.ts';
import type { SentEvent } from '#test/harness/ingest.ts';
import type { Ledger, Standing } from './load_ledger.ts';
import { atRate } from './request_rate.ts';
import { post } from './send.ts';
import type { Traffic } from './traffic.ts';

export interface LoadOptions {
  edges: readonly string[];
  key: string;
  traffic: Traffic;
  ledger: Ledger;
  random: Random;
  /** New events at the least. */
  eventsMin: number;
  /** Requests a second over all clients. */
  requestsPerSecond: number;
}

/** Clients that send side by side. */
const CLIENTS = 12;
const EVENTS_IN_REQUEST_MAX = 20;
/** Share of requests that send again what was sent before, mixed anew: other edges, connections and partitions. */
const RESENDING = 0.2;
/** Share of clients' requests that are given up after the first answer other than yes. */
const GIVING_UP = 0.2;
const RETRY_MS = 250;
/** A client that keeps its events sends them for so long after the fault is over. */
const PATIENCE_MS = 60_000;

/** Sends until the fault is over and enough was sent; every client is then let finish what it keeps. */
export async function runLoad(options: LoadOptions, fault: Promise<void>): Promise<void> {
  const { ledger, random } = options;
  const sent: SentEvent[] = [];
  const life = { over: false, overMs: Number.POSITIVE_INFINITY };
  const nextTurn = atRate(options.requestsPerSecond);
  const end = (): void => Object.assign(life, { over: true, overMs: performance.now() }) && undefined;
  const watched = fault.finally(end);

  function nextRequest(): SentEvent[] {
    const count = random.whole(1, EVENTS_IN_REQUEST_MAX);
    if (sent.length > 100 && random.chance(RESENDING)) {
      return distinct(Array.from({ length: count }, () => sent[random.whole(0, sent.length - 1)] as SentEvent));
    }
    const fresh = options.traffic.next(count);
    sent.push(...fresh);
    return fresh;
  }

  async function client(name: string): Promise<void> {
    while (!life.over || ledger.size() < options.eventsMin) {
      await nextTurn();
      const events = nextRequest();
      const persistent = !random.chance(GIVING_UP);
      let standing = await attempt(events, name);
      while (persistent && standing !== 'accepted' && performance.now() < life.overMs + PATIENCE_MS) {
        await sleep(RETRY_MS);
        standing = await attempt(events, name);
      }
    }
  }

  async function attempt(events: readonly SentEvent[], name: string): Promise<Standing> {
    const edge = options.edges[random.whole(0, options.edges.length - 1)] as string;
    const { standing, answer } = await post(edge, options.key, events, name);
    ledger.note(events, standing, answer);
    return standing;
  }

  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(`198.51.100.${index + 1}`)));
  await Promise.all([clients, watched]);
}

function distinct(events: readonly SentEvent[]): SentEvent[] {
  return [...new Map(events.map((event) => [event.uuid, event])).values()];
}
