// Sends one event to one destination, by the settings it has now.
import type { Egress } from '#infra/egress/send.ts';
import { type KeyRing, openDestinationSecrets } from '#infra/secrets/seal.ts';
import { createRejectionTracker } from '#pipelines/delivery/breaker.ts';
import { createSiteConcurrencyLimiter } from '#pipelines/delivery/concurrency.ts';
import type { Adapter, EntryOutcome } from '#pipelines/delivery/contract.ts';
import { deliver } from '#pipelines/delivery/deliver.ts';
import { createTokens } from '#pipelines/delivery/delivery_run.ts';
import type { EventEntry } from '#schemas/event.ts';
import type { Destination, Site } from '#schemas/setting.ts';

/** One event for one destination, by the settings it has now. */
export interface TestSend {
  adapter: Adapter;
  site: Site;
  destination: Destination;
  entry: EventEntry;
}

/** Sends an event as delivery would, once, and answers what came of it. Nothing else learns of it. */
export type SendTest = (test: TestSend) => Promise<EntryOutcome>;

interface TestSenderOptions {
  ring: KeyRing;
  egress: Pick<Egress, 'send'>;
  /** Another address than the platform's own, as delivery was given one, by the destination's name; null: there is none. */
  baseUrls: Readonly<Record<string, string | null>>;
  /** Milliseconds since 1970 UTC. */
  nowMs(): number;
  monotonicMs(): number;
}

/** What one call needs that many have in common in delivery: fresh each time, so that it depends on nothing before it. */
function portsOf({ egress, nowMs, monotonicMs }: TestSenderOptions, siteId: string): Parameters<typeof deliver>[1] {
  return {
    ...{ send: egress.send, nowMs, monotonicMs },
    breaker: { ask: () => ({ kind: 'go' }), report: () => undefined },
    rejections: createRejectionTracker(1, monotonicMs).of(siteId),
    turns: createSiteConcurrencyLimiter(1),
    tokens: createTokens(1),
    stopping: () => false,
    answered: () => undefined,
    onPartialSuccess: () => undefined,
  };
}

export function createTestSender(options: TestSenderOptions): SendTest {
  const { ring, baseUrls, nowMs } = options;
  return async ({ adapter, site, destination, entry }) => {
    const job = {
      ...{ adapter, site, settings: destination.settings, secrets: openDestinationSecrets(ring, destination) },
      ...{ baseUrl: baseUrls[adapter.name] ?? null, entries: [entry], attempt: 1, nowMs: nowMs() },
    };
    const [outcome] = await deliver(job, portsOf(options, site.site_id));
    if (outcome === undefined) throw new Error('an event without an outcome');
    return outcome;
  };
}
