// Calls in flight: turns for each site, and sites whose destination is slow. A target is a destination of a site, by its `targetKey`.

/** Gives out turns, so that calls in flight are bound for each site and in all. */
export interface SiteConcurrencyLimiter {
  /** Does a piece of work of a site when fewer than `siteMax` of it, and fewer than there may be in all, are under way. */
  run<T>(target: string, siteMax: number, work: () => Promise<T>): Promise<T>;
}

interface Waiting {
  target: string;
  siteMax: number;
  begin(): void;
}

/** Share of the turns that slow sites have together: the others' calls do not wait for theirs. */
const SLOW_SHARE = 0.5;

/**
 * @param totalMax pieces of work under way at a time, of all sites.
 * @param isSlow whether a site's work takes long.
 */
export function createSiteConcurrencyLimiter(
  totalMax: number,
  isSlow: (target: string) => boolean = () => false,
): SiteConcurrencyLimiter {
  const underWay = new Map<string, number>();
  const waiting: Waiting[] = [];
  const slow = new Set<object>();
  let total = 0;

  const mayBegin = ({ target, siteMax }: Pick<Waiting, 'target' | 'siteMax'>): boolean =>
    total < totalMax && (underWay.get(target) ?? 0) < siteMax && (slow.size < totalMax * SLOW_SHARE || !isSlow(target));

  function begin(target: string): void {
    total += 1;
    underWay.set(target, (underWay.get(target) ?? 0) + 1);
  }

  function end(target: string): void {
    total -= 1;
    const left = (underWay.get(target) ?? 1) - 1;
    if (left === 0) underWay.delete(target);
    else underWay.set(target, left);
    const next = waiting.findIndex(mayBegin);
    const [one] = next < 0 ? [] : waiting.splice(next, 1);
    if (one === undefined) return;
    begin(one.target);
    one.begin();
  }

  return {
    async run(target, siteMax, work) {
      if (mayBegin({ target, siteMax })) begin(target);
      else await new Promise<void>((resolve) => waiting.push({ target, siteMax, begin: resolve }));
      const turn = {};
      if (isSlow(target)) slow.add(turn);
      try {
        return await work();
      } finally {
        slow.delete(turn);
        end(target);
      }
    },
  };
}

/** Which sites' destinations are so much slower than others', or than what is sent to them, that everybody would wait for them. */
export interface SlowSites {
  /** How long a call took. */
  took(target: string, tookMs: number): void;
  /** What was read of it at once took longer than others can be asked to wait. */
  late(target: string): void;
  /** Whether its events go to the retry topic of slow sites, unasked. */
  isSlow(target: string): boolean;
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
/** A site that was not slow, or not called, for so long is not known to be slow any more: its retry topic may be another process's. */
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
    isSlow(target) {
      if (nowMs() - (lateAtMs.get(target) ?? Number.NEGATIVE_INFINITY) < KNOWN_MS) return true;
      const pace = sites.get(target);
      if (pace === undefined || pace.meanMs <= SLOW_MS || !isKnown(pace)) return false;
      return pace.meanMs > TIMES_FAST * fastMs();
    },
    took(target, tookMs) {
      const { meanMs, calls } = sites.get(target) ?? { meanMs: tookMs, calls: 0 };
      const pace = { meanMs: meanMs + NEWEST_SHARE * (tookMs - meanMs), calls: calls + 1, atMs: nowMs() };
      putNewest(sites, target, pace, sitesMax);
    },
    late: (target) => putNewest(lateAtMs, target, nowMs(), sitesMax),
  };
}

/** Puts a value into a table of at most `max`: the one that was put longest ago makes way. */
export function putNewest<Value>(table: Map<string, Value>, key: string, value: Value, max: number): void {
  table.delete(key);
  table.set(key, value);
  dropOldest(table, max);
}

/** Drops of what is more than `max` that which was put longest ago. */
export function dropOldest(table: Map<string, unknown> | Set<string>, max: number): void {
  for (const oldest of table.keys()) {
    if (table.size <= max) return;
    table.delete(oldest);
  }
}
