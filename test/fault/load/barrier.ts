import { setTimeout as sleep } from 'node:timers/promises';
import { visitorPartition } from '#schemas/wire.ts';
import type { SentEvent } from '#test/harness/ingest.ts';
import type { Ledger } from './load_ledger.ts';
import { send } from './send.ts';

export interface BarrierOptions {
  edges: readonly string[];
  key: string;
  site: string;
  partitions: number;
  /** Makes the ids unlike those of any other row. */
  name: string;
  ledger: Ledger;
}

/** Visitors of one request: those of all requests together fall on every partition of the topics behind events.raw. */
const VISITORS = 40;
const PATIENCE_MS = 90_000;
const RETRY_MS = 200;

/**
 * Sends events behind everything that was sent before: a request for every partition of events.raw, whose events
 * spread over all partitions further on. Partitions keep their order, so once these have arrived somewhere, nothing
 * that was sent before is still under way to it. Returns their ids.
 */
export async function sendBarrier(options: BarrierOptions): Promise<Set<string>> {
  const requests = Array.from({ length: options.partitions }, (_, partition) => barrierRequest(options, partition));
  await Promise.all(requests.map((events, index) => sendForCertain(options, events, index)));
  return new Set(requests.flat().map(({ uuid }) => uuid));
}

function barrierRequest({ site, partitions, name }: BarrierOptions, partition: number): SentEvent[] {
  const visitorAt = (index: number): string => `barrier.${partition}.${index}`;
  // Among any forty there may be none.
  let own = 0;
  while (visitorPartition(site, visitorAt(own), partitions) !== partition) own += 1;
  const others = Array.from({ length: VISITORS }, (_, index) => index).filter((index) => index !== own);
  return [own, ...others.slice(0, VISITORS - 1)].map(visitorAt).map((visitor) => ({
    event: 'page_view',
    uuid: `${name}-${visitor}`,
    distinct_id: visitor,
    timestamp: new Date().toISOString(),
    properties: {
      external_id: visitor,
      $current_url: 'https://shop.example/',
      client_user_agent: 'Mozilla/5.0 (X11; Linux x86_64)',
    },
  }));
}

async function sendForCertain(options: BarrierOptions, events: SentEvent[], index: number): Promise<void> {
  const edge = options.edges[index % options.edges.length] as string;
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(RETRY_MS)) {
    const standing = await send(edge, options.key, events, '198.51.100.250');
    options.ledger.note(events, standing);
    if (standing === 'accepted') return;
  }
  throw new Error(`the barrier was not accepted within ${PATIENCE_MS} ms`);
}
