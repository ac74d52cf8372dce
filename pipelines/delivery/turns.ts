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

/** @param totalMax pieces of work under way at a time, of all sites. */
export function createTurns(totalMax: number): Turns {
  const underWay = new Map<string, number>();
  const waiting: Waiting[] = [];
  let total = 0;

  const mayBegin = ({ siteId, siteMax }: Pick<Waiting, 'siteId' | 'siteMax'>): boolean =>
    total < totalMax && (underWay.get(siteId) ?? 0) < siteMax;

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
      try {
        return await work();
      } finally {
        end(siteId);
      }
    },
  };
}
