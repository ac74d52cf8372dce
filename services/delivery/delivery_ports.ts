import type { Egress } from '#infra/egress/send.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { TokenStore } from '#pipelines/delivery/access_tokens.ts';
import type { BreakerPort, Breakers } from '#pipelines/delivery/breakers.ts';
import type { DeliveryPorts, Shortfall } from '#pipelines/delivery/delivery_run.ts';
import type { Refusals } from '#pipelines/delivery/refusals.ts';
import type { SlowSites } from '#pipelines/delivery/slow_sites.ts';
import type { Turns } from '#pipelines/delivery/turns.ts';
import type { Place, UncommittedOutcomes } from '#pipelines/delivery/uncommitted.ts';
import type { EventEntry } from '#schemas/event.ts';
import type { JobEvent, SiteJob } from './job_reader.ts';
import type { OutageWatch } from './outage_watch.ts';

/** What the calls of a destination share over all its sites. */
export interface SharedByCalls {
  adapter: { readonly name: string };
  breakers: Breakers;
  refusals: Refusals;
  turns: Turns;
  watch: Pick<OutageWatch, 'trouble' | 'report'>;
  slow: SlowSites;
  /** Whether it is the only site of the destination, for which no other waits. */
  isAlone(): boolean;
  /** Told where a site's destination takes events again. */
  returned(siteId: string): void;
  egress: Egress;
  uncommitted: Pick<UncommittedOutcomes, 'of' | 'keep'>;
  /** Told how many of a call's events a platform did not take without saying which. */
  fellShort(events: number): void;
  logger: Logger;
  /** Milliseconds since 1970 UTC. */
  nowMs(): number;
  monotonicMs(): number;
}

/** An event without an outcome. */
export interface OpenEvent extends JobEvent {
  entry: EventEntry;
}

/** What the delivery of a site's open events reaches outside itself. */
export function deliveryPorts(
  shared: SharedByCalls,
  tokens: TokenStore,
  job: SiteJob,
  open: readonly OpenEvent[],
  { stopping, called }: { stopping(): boolean; called(beganMs: number): void },
): DeliveryPorts {
  return {
    async send(request, timeoutMs) {
      const beganMs = shared.monotonicMs();
      called(beganMs);
      const answer = await shared.egress.send(request, timeoutMs);
      shared.slow.took(job.siteId, shared.monotonicMs() - beganMs);
      return answer;
    },
    nowMs: shared.nowMs,
    monotonicMs: shared.monotonicMs,
    turns: shared.turns,
    tokens,
    stopping,
    breaker: breakerFor(shared, job),
    refusals: shared.refusals.of(job.siteId),
    answered: keepOutcomes(shared, job, open),
    fellShort: (shortfall) => reportShortfall(shared, job, shortfall),
  };
}

/** From the main topic a site in trouble is not probed: its lanes do that, and no other site waits for the answer. */
function breakerFor({ adapter, breakers, watch, returned }: SharedByCalls, { siteId, isMain }: SiteJob): BreakerPort {
  const breaker = breakers.of(adapter.name, siteId);
  return {
    ask: () => watch.trouble() ?? (isMain ? breaker.trouble() : null) ?? breaker.ask(),
    report(health, isShared) {
      const wasInTrouble = breaker.trouble() !== null;
      breaker.report(health);
      if (wasInTrouble && breaker.trouble() === null) returned(siteId);
      if (isShared) watch.report(siteId, health);
    },
  };
}

/** Keeps each outcome until its offset is committed. What is paused has been judged by nobody, and is not kept. */
function keepOutcomes(
  { uncommitted, nowMs }: SharedByCalls,
  { source }: SiteJob,
  open: readonly OpenEvent[],
): DeliveryPorts['answered'] {
  const places = new Map<EventEntry, Place>(open.map((event) => [event.entry, event]));
  const attemptedAtMs = nowMs();
  return (entry, outcome) => {
    const place = places.get(entry);
    if (outcome.outcome === 'paused' || place === undefined) return;
    uncommitted.keep(source, place, { outcome, attemptedAtMs });
  };
}

function reportShortfall(shared: SharedByCalls, { siteId }: SiteJob, { sent, taken, detail }: Shortfall): void {
  const facts = { site: siteId, destination: shared.adapter.name, sent, taken, detail };
  shared.logger.warn(facts, 'fewer events were taken than sent');
  shared.fellShort(sent - taken);
}
