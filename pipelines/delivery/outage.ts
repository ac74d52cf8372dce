import { type Health, RETRY_AFTER_MS_MAX } from './breaker.ts';

/** Limits of the watch over a whole destination; all times in milliseconds. */
export interface OutageConfig {
  /** Failures in a row, of whatever sites, that make it an outage. */
  failuresMax: number;
  /** Sites that must be among them; all there are where there are fewer. */
  sitesMin: number;
  /** How long nothing is sent at first; doubled each time a probe fails. */
  awayMs: number;
  awayMsMax: number;
  /** A probe that brought no news is given up after this time. */
  probeMs: number;
}

export const OUTAGE_DEFAULTS: OutageConfig = {
  failuresMax: 6,
  sitesMin: 3,
  awayMs: 2_000,
  awayMsMax: 15_000,
  probeMs: 60_000,
};

/** Whether a destination as a whole answers; a plain value. Times are milliseconds since 1970 UTC. */
export type Outage =
  | { kind: 'here'; failures: number; sites: readonly string[] }
  | { kind: 'away'; reason: string; untilMs: number; forMs: number }
  | { kind: 'probing'; reason: string; untilMs: number; forMs: number };

export const HERE: Outage = { kind: 'here', failures: 0, sites: [] };

export type OutagePermit = { kind: 'go' } | { kind: 'probe' } | { kind: 'wait'; notBeforeMs: number };

/** How soon the outcome of another's probe is looked for. */
const PROBE_LOOK_MS = 250;

/** Asks whether a batch may be attempted now; while the destination is away one probes and the others wait. */
export function askOutage(
  outage: Outage,
  config: OutageConfig,
  nowMs: number,
): { permit: OutagePermit; outage: Outage } {
  if (outage.kind === 'here') return { permit: { kind: 'go' }, outage };
  if (nowMs < outage.untilMs) {
    const notBeforeMs = outage.kind === 'away' ? outage.untilMs : Math.min(outage.untilMs, nowMs + PROBE_LOOK_MS);
    return { permit: { kind: 'wait', notBeforeMs }, outage };
  }
  return { permit: { kind: 'probe' }, outage: { ...outage, kind: 'probing', untilMs: nowMs + config.probeMs } };
}

/**
 * What an answer from the platform's own address to one site's call says of the platform. Broken credentials are the
 * site's own matter and say nothing; an answer about events, good or bad, says that it is there.
 *
 * @param sites how many sites are delivered to it.
 */
export function reportOutage(
  outage: Outage,
  config: OutageConfig,
  call: { siteId: string; health: Health; sites: number },
  nowMs: number,
): Outage {
  const { health, siteId } = call;
  if (health.kind === 'well' || health.kind === 'doubtful') return HERE;
  if (health.kind === 'credentials_broken') return outage;
  switch (outage.kind) {
    case 'away':
      return outage;
    case 'probing': {
      const forMs = Math.min(outage.forMs * 2, config.awayMsMax);
      return awayFor(health, forMs, nowMs);
    }
    case 'here': {
      const failures = outage.failures + 1;
      const sites = outage.sites.includes(siteId) ? outage.sites : [...outage.sites, siteId].slice(-config.sitesMin);
      if (failures < config.failuresMax || sites.length < Math.min(config.sitesMin, call.sites))
        return { kind: 'here', failures, sites };
      return awayFor(health, config.awayMs, nowMs);
    }
  }
}

/** Never for less than the platform asks for, of which six hours count at the most. */
function awayFor(health: Extract<Health, { reason: string }>, forMs: number, nowMs: number): Outage {
  const askedMs = health.kind === 'throttled' ? (health.retryAfterMs ?? 0) : 0;
  return {
    kind: 'away',
    reason: health.reason,
    untilMs: nowMs + Math.max(forMs, Math.min(askedMs, RETRY_AFTER_MS_MAX)),
    forMs,
  };
}

/**
 * After a probe that called nobody: the next batch probes, at once where nothing was to be sent, and after a pause where
 * the breaker of a site held it back.
 */
export function withoutNews(outage: Outage, config: OutageConfig, heldBack: boolean, nowMs: number): Outage {
  if (outage.kind !== 'probing') return outage;
  return { ...outage, kind: 'away', untilMs: heldBack ? nowMs + config.awayMs : nowMs };
}
