import {
  ask,
  type Breaker,
  type BreakerConfig,
  CLOSED,
  type Health,
  type Permit,
  report,
  troubleOf,
} from './breaker.ts';

/** The breaker of one destination and site, as `deliver` uses it. */
export interface BreakerPort {
  ask(): Permit;
  /** @param isShared whether the call went to the platform's own address, which all sites share. */
  report(health: Health, isShared: boolean): void;
}

/** The breaker of one destination and site, for whom more is known than of its calls. */
interface SiteBreaker {
  ask(): Permit;
  report(health: Health): void;
  /** What a call has to wait for that leaves the probe to others; null where there is nothing. */
  trouble(): Extract<Permit, { kind: 'wait' }> | null;
}

/** The breakers of one process. */
export interface Breakers {
  of(destination: string, siteId: string): SiteBreaker;
  /** Forgets what is known, as after a site's secret was replaced. */
  reset(destination: string, siteId: string): void;
  /** Every breaker that is not closed and calm, for health pages and metrics. */
  list(): { destination: string; siteId: string; breaker: Breaker }[];
}

interface Slot {
  destination: string;
  siteId: string;
  breaker: Breaker;
}

/**
 * A table of breakers that holds at most `slotsMax`; calm ones take no room, and when it is full the one untouched for
 * longest is forgotten, which costs at most a few calls to a platform that is away.
 *
 * @param nowMs milliseconds of a clock that only goes forward.
 */
export function createBreakers(config: BreakerConfig, slotsMax: number, nowMs: () => number): Breakers {
  const slots = new Map<string, Slot>();
  const keyOf = (destination: string, siteId: string): string => `${destination}/${siteId}`;
  const put = (destination: string, siteId: string, breaker: Breaker): void => {
    const key = keyOf(destination, siteId);
    slots.delete(key);
    if (breaker.kind === 'closed' && breaker.failures === 0) return;
    slots.set(key, { destination, siteId, breaker });
    if (slots.size > slotsMax) for (const oldest of slots.keys()) return void slots.delete(oldest);
  };
  return {
    of: (destination, siteId) => {
      const current = (): Breaker => slots.get(keyOf(destination, siteId))?.breaker ?? CLOSED;
      return {
        ask: () => {
          const asked = ask(current(), config, nowMs());
          put(destination, siteId, asked.breaker);
          return asked.permit;
        },
        trouble: () => troubleOf(current(), nowMs()),
        report: (health) => put(destination, siteId, report(current(), config, health, nowMs())),
      };
    },
    reset: (destination, siteId) => void slots.delete(keyOf(destination, siteId)),
    list: () => [...slots.values()],
  };
}
