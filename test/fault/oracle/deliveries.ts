import type { LedgerEntry as Delivered } from '#services/local/platforms/standin.ts';

/** What a destination's stand-in accepted for one site. */
export interface Deliveries {
  entries: Delivered[];
  /** Acceptances beyond the first of each key. */
  repeated: number;
}

interface Totals {
  [scope: string]: { first: number; repeated: number };
}

/** How many distinct keys a stand-in has for a scope. */
export async function deliveredCount(standin: string, scope: string): Promise<number> {
  const totals = (await (await fetch(`${standin}/_standin/totals`)).json()) as Totals;
  return totals[scope]?.first ?? 0;
}

export async function deliveriesOf(standin: string, scope: string): Promise<Deliveries> {
  const { events } = (await (await fetch(`${standin}/_standin/ledger`)).json()) as { events: Delivered[] };
  const entries = events.filter((entry) => entry.scope === scope);
  return { entries, repeated: entries.reduce((sum, { times }) => sum + times - 1, 0) };
}
