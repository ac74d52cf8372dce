/** Gives out turns, so that calls in flight are bound for each site and in all. */
export interface Turns {
  /** Does a piece of work of a site when fewer than `siteMax` of it, and fewer than there may be in all, are under way. */
  run<T>(siteId: string, siteMax: number, work: () => Promise<T>): Promise<T>;
}

interface Waiting {
  siteId: string;
  siteMax: number;
  begin(): void;
}

/** Share of the turns that slow sites have together: the others' calls do not wait for theirs. */
const SLOW_SHARE = 0.5;

/**
 * @param totalMax pieces of work under way at a time, of all sites.
 * @param isSlow whether a site's work takes long.
 */
export function createTurns(totalMax: number, isSlow: (siteId: string) => boolean = () => false): Turns {
  const underWay = new Map<string, number>();
  const waiting: Waiting[] = [];
  const slow = new Set<object>();
  let total = 0;

  const mayBegin = ({ siteId, siteMax }: Pick<Waiting, 'siteId' | 'siteMax'>): boolean =>
    total < totalMax && (underWay.get(siteId) ?? 0) < siteMax && (slow.size < totalMax * SLOW_SHARE || !isSlow(siteId));

  function begin(siteId: string): void {
    total += 1;
    underWay.set(siteId, (underWay.get(siteId) ?? 0) + 1);
  }

  function end(siteId: string): void {
    total -= 1;
    const left = (underWay.get(siteId) ?? 1) - 1;
    if (left === 0) underWay.delete(siteId);
    else underWay.set(siteId, left);
    const next = waiting.findIndex(mayBegin);
    const [one] = next < 0 ? [] : waiting.splice(next, 1);
    if (one === undefined) return;
    begin(one.siteId);
    one.begin();
  }

  return {
    async run(siteId, siteMax, work) {
      if (mayBegin({ siteId, siteMax })) begin(siteId);
      else await new Promise<void>((resolve) => waiting.push({ siteId, siteMax, begin: resolve }));
      const turn = {};
      if (isSlow(siteId)) slow.add(turn);
      try {
        return await work();
      } finally {
        slow.delete(turn);
        end(siteId);
      }
    },
  };
}
