import type { Logger } from '#infra/log/logger.ts';
import type { Health, Permit } from '#pipelines/delivery/breaker.ts';
import type { Breakers } from '#pipelines/delivery/breakers.ts';
import {
  askOutage,
  HERE,
  type Outage,
  type OutageConfig,
  type OutagePermit,
  reportOutage,
  withoutNews,
} from '#pipelines/delivery/outage.ts';

/** Whether this process's destination as a whole answers. */
export interface OutageWatch {
  /** Whether a batch may be attempted now. */
  ask(): OutagePermit;
  report(siteId: string, health: Health): void;
  /** What a call has to wait for; null unless the destination is away. */
  trouble(): Extract<Permit, { kind: 'wait' }> | null;
  /** When a batch is to be looked at again that could not be delivered, by the time of day; null unless the destination is away. */
  awayUntilMs(): number | null;
  /** A probe is over, whatever it brought; whether anything was held back by a site's breaker. */
  probed(heldBack: boolean): void;
}

export interface OutageWatchOptions {
  destination: string;
  config: OutageConfig;
  breakers: Breakers;
  /** How many sites are delivered to it. */
  sites(): number;
  logger: Logger;
  /** Monotonic milliseconds. */
  nowMs(): number;
  /** When that is by the time of day, which is what a batch that rests is given. */
  wallMsOf(ms: number): number;
}

/** Watches over a destination. While it is away its sites' breakers say nothing more, and are forgotten. */
export function watchOutage(options: OutageWatchOptions): OutageWatch {
  const { destination, config, breakers, sites, logger, nowMs, wallMsOf } = options;
  let outage: Outage = HERE;

  function forgetSites(): void {
    for (const { siteId, breaker } of breakers.list()) {
      if (breaker.kind === 'closed' || breaker.cause === 'failing') breakers.reset(destination, siteId);
    }
  }

  function turnTo(next: Outage): void {
    const before = outage;
    outage = next;
    if (before.kind === 'here' && next.kind === 'away') {
      logger.warn({ destination, reason: next.reason }, 'the destination is away: events wait in the main topic');
      forgetSites();
    } else if (before.kind === 'probing' && next.kind === 'away') forgetSites();
    else if (before.kind !== 'here' && next.kind === 'here') logger.info({ destination }, 'the destination is back');
  }

  return {
    ask() {
      const asked = askOutage(outage, config, nowMs());
      outage = asked.outage;
      const { permit } = asked;
      return permit.kind === 'wait' ? { ...permit, notBeforeMs: wallMsOf(permit.notBeforeMs) } : permit;
    },
    report: (siteId, health) => turnTo(reportOutage(outage, config, { siteId, health, sites: sites() }, nowMs())),
    trouble() {
      if (outage.kind !== 'away') return null;
      const waitMs = Math.max(0, outage.untilMs - nowMs());
      return { kind: 'wait', cause: 'failing', reason: outage.reason, waitMs };
    },
    awayUntilMs: () => (outage.kind === 'away' ? wallMsOf(outage.untilMs) : null),
    probed(heldBack) {
      outage = withoutNews(outage, config, heldBack, nowMs());
    },
  };
}
