/**
 * What one edge grants of a month by itself, while nobody can be asked: from the usage it knew last and its own count.
 * Several edges together may then pass the limit by what each of them grants.
 */
export interface OwnCount {
  /** Takes what is known of a month; what was granted before is in it. */
  learn(accountId: string, month: string, known: number): void;
  /** How many of the wanted events may be taken. */
  grant(accountId: string, month: string, limit: number, wanted: number): number;
  /** Takes back what was granted and not produced, as far as nothing newer was learnt since. */
  giveBack(accountId: string, month: string, events: number): void;
}

/** Beyond so many months the one that was learnt first is forgotten. */
const MONTHS_MAX = 100_000;

export function createOwnCount(): OwnCount {
  /** Used and held when last heard of, and what was granted since. */
  const months = new Map<string, { known: number; granted: number }>();

  function set(name: string, known: number, granted: number): void {
    if (months.size >= MONTHS_MAX && !months.has(name)) months.delete(months.keys().next().value ?? '');
    months.set(name, { known, granted });
  }

  return {
    learn: (accountId, month, known) => set(`${accountId} ${month}`, known, 0),
    grant(accountId, month, limit, wanted) {
      const name = `${accountId} ${month}`;
      const { known, granted: before } = months.get(name) ?? { known: 0, granted: 0 };
      const granted = Math.max(0, Math.min(wanted, limit - known - before));
      set(name, known, before + granted);
      return granted;
    },
    giveBack(accountId, month, events) {
      const name = `${accountId} ${month}`;
      const count = months.get(name);
      if (count !== undefined) set(name, count.known, Math.max(0, count.granted - events));
    },
  };
}
