import type { SentEvent } from '#test/harness/ingest.ts';

/**
 * What the client knows of an event: `accepted` was answered at least once; `unknown`: the answer to at least one
 * sending never came, or said that it is not certain; `refused`: every sending was turned away for certain.
 */
export type Standing = 'accepted' | 'unknown' | 'refused';

interface LedgerEntry {
  event: SentEvent;
  standing: Standing;
  sends: number;
}

/** Everything the load generator sent, by event id. */
export interface Ledger {
  note(events: readonly SentEvent[], standing: Standing, answer?: string): void;
  entries(): LedgerEntry[];
  ids(standing: Standing): Set<string>;
  size(): number;
  /** What requests were answered that were not accepted. */
  turnedAway(): string[];
}

/** The better standing stays: who was told yes once may rely on it. */
const RANK: Record<Standing, number> = { accepted: 2, unknown: 1, refused: 0 };

export function createLedger(): Ledger {
  const entries = new Map<string, LedgerEntry>();
  const turnedAway: string[] = [];
  return {
    note(events, standing, answer = standing) {
      if (standing !== 'accepted') turnedAway.push(answer);
      for (const event of events) {
        const entry = entries.get(event.uuid) ?? { event, standing, sends: 0 };
        entries.set(event.uuid, entry);
        entry.sends++;
        if (RANK[standing] > RANK[entry.standing]) entry.standing = standing;
      }
    },
    entries: () => [...entries.values()],
    ids: (standing) =>
      new Set([...entries.values()].filter((entry) => entry.standing === standing).map(({ event }) => event.uuid)),
    size: () => entries.size,
    turnedAway: () => turnedAway,
  };
}
