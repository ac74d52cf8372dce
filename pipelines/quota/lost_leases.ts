/** What is asked before a dead edge's hold is given back. */
export interface HoldPorts {
  /** Holds whose edge has not been heard of for its lease. */
  deadHolds(): Promise<string[]>;
  /** Offsets at which the partitions of events.raw end now. */
  rawEnds(): Promise<ReadonlyMap<number, number>>;
  /** Up to which offset each partition of events.raw is settled. */
  settled(): Promise<ReadonlyMap<number, number>>;
  /** Gives back what a hold still holds. */
  giveBack(hold: string): Promise<void>;
}

/**
 * Finds what dead edges reserved and never produced. An edge whose lease is over produces no more: what it did produce
 * stands before the ends of events.raw taken after that. Once everything before those ends is settled, whatever its hold
 * still holds never arrived. However far the pipelines lag behind, that only makes this wait longer.
 *
 * Answers a function for one look, to be called again and again by one caller.
 */
export function createLostHolds(ports: HoldPorts): () => Promise<void> {
  const endsAtDeath = new Map<string, ReadonlyMap<number, number>>();
  return async () => {
    const dead = new Set(await ports.deadHolds());
    for (const hold of endsAtDeath.keys()) if (!dead.has(hold)) endsAtDeath.delete(hold);
    if (dead.size === 0) return;
    const settled = await ports.settled();
    for (const [hold, ends] of endsAtDeath) {
      if (!isBehind(settled, ends)) continue;
      await ports.giveBack(hold);
      endsAtDeath.delete(hold);
      dead.delete(hold);
    }
    const fresh = [...dead].filter((hold) => !endsAtDeath.has(hold));
    if (fresh.length === 0) return;
    const ends = await ports.rawEnds();
    for (const hold of fresh) endsAtDeath.set(hold, ends);
  };
}

/** Whether everything before the ends is settled. A partition that holds nothing has nothing to settle. */
function isBehind(settled: ReadonlyMap<number, number>, ends: ReadonlyMap<number, number>): boolean {
  return [...ends].every(([partition, end]) => (settled.get(partition) ?? 0) >= end);
}
