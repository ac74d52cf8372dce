import { putNewest } from './put_newest.ts';

/** Which sites' destinations are so much slower than others', or than what is sent to them, that everybody would wait for them. */
export interface SlowSites {
  /** How long a call took. */
  took(siteId: string, tookMs: number): void;
  /** What was read of it at once took longer than others can be asked to wait. */
  late(siteId: string): void;
  /** Whether its events go to the lane of slow sites, unasked. */
  isSlow(siteId: string): boolean;
}

/** A call of a slow site takes longer than this, in milliseconds, and so many times as long as those of fast ones. */
const SLOW_MS = 1_000;
const TIMES_FAST = 3;
/** The sites of which so many of the others are faster: where a platform is slow to all, none is held up by another. */
const FAST_SHARE = 0.25;
/** Calls that say how slow a site is; one may be late by chance. */
const CALLS_MIN = 5;
/** Share that the newest call has in a site's mean. */
const NEWEST_SHARE = 0.2;
/** A site that was not slow, or not called, for so long is not known to be slow any more: its lane may be another process's. */
const KNOWN_MS = 60_000;
/** How often it is looked how fast the fast ones are. */
const LOOK_MS = 1_000;

interface Pace {
  meanMs: number;
  calls: number;
  atMs: number;
}

/**
 * @param sitesMax sites that are held in memory at the most; the one called longest ago is forgotten first.
 * @param nowMs milliseconds of a clock that only goes forward.
 */
export function createSlowSites(sitesMax: number, nowMs: () => number): SlowSites {
  const sites = new Map<string, Pace>();
  const lateAtMs = new Map<string, number>();
  let fast = { meanMs: Number.POSITIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY };

  const isKnown = ({ calls, atMs }: Pace): boolean => calls >= CALLS_MIN && nowMs() - atMs < KNOWN_MS;

  function fastMs(): number {
    if (nowMs() < fast.untilMs) return fast.meanMs;
    const means = [...sites.values()].filter(isKnown).map(({ meanMs }) => meanMs);
    const place = Math.floor(FAST_SHARE * (means.length - 1));
    const meanMs = means.sort((one, other) => one - other)[place] ?? Number.POSITIVE_INFINITY;
    fast = { meanMs, untilMs: nowMs() + LOOK_MS };
    return meanMs;
  }

  return {
    isSlow(siteId) {
      if (nowMs() - (lateAtMs.get(siteId) ?? Number.NEGATIVE_INFINITY) < KNOWN_MS) return true;
      const pace = sites.get(siteId);
      if (pace === undefined || pace.meanMs <= SLOW_MS || !isKnown(pace)) return false;
      return pace.meanMs > TIMES_FAST * fastMs();
    },
    took(siteId, tookMs) {
      const { meanMs, calls } = sites.get(siteId) ?? { meanMs: tookMs, calls: 0 };
      const pace = { meanMs: meanMs + NEWEST_SHARE * (tookMs - meanMs), calls: calls + 1, atMs: nowMs() };
      putNewest(sites, siteId, pace, sitesMax);
    },
    late: (siteId) => putNewest(lateAtMs, siteId, nowMs(), sitesMax),
  };
}
