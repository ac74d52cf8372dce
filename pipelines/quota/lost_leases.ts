/** What is asked before a dead edge's lease is given back. */
export interface LostLeasesPorts {
  /** ReservationLeases whose edge has not been heard of for its lease. */
  deadLeases(): Promise<string[]>;
  /** Offsets at which the partitions of events.raw end now. */
  rawEnds(): Promise<ReadonlyMap<number, number>>;
  /** Up to which offset each partition of events.raw is settled. */
  settled(): Promise<ReadonlyMap<number, number>>;
  /** Gives back what a lease still holds. */
  giveBack(lease: string): Promise<void>;
}

/**
 * Finds what dead edges reserved and never produced. An edge whose lease is over produces no more: what it did produce
 * stands before the ends of events.raw taken after that. Once everything before those ends is settled, whatever its lease
 * still holds never arrived. However far the pipelines lag behind, that only makes this wait longer.
 *
 * Answers a function for one look, to be called again and again by one caller.
 */
export function createLostLeases(ports: LostLeasesPorts): () => Promise<void> {
  const endsAtDeath = new Map<string, ReadonlyMap<number, number>>();
  return async () => {
    const dead = new Set(await ports.deadLeases());
    for (const lease of endsAtDeath.keys()) if (!dead.has(lease)) endsAtDeath.delete(lease);
    if (dead.size === 0) return;
    const settled = await ports.settled();
    for (const [lease, ends] of endsAtDeath) {
      if (!isBehind(settled, ends)) continue;
      await ports.giveBack(lease);
      endsAtDeath.delete(lease);
      dead.delete(lease);
    }
    const fresh = [...dead].filter((lease) => !endsAtDeath.has(lease));
    if (fresh.length === 0) return;
    const ends = await ports.rawEnds();
    for (const lease of fresh) endsAtDeath.set(lease, ends);
  };
}

/** Whether everything before the ends is settled. A partition that holds nothing has nothing to settle. */
function isBehind(settled: ReadonlyMap<number, number>, ends: ReadonlyMap<number, number>): boolean {
  return [...ends].every(([partition, end]) => (settled.get(partition) ?? 0) >= end);
}
