import { type PlannedRequest, SITE_SLOTS, type SiteSlot, type WorldEvent } from './demo_event.ts';
import { countSteps, stepsReached } from './demo_funnel.ts';
import { resolvePeople } from './people_found.ts';

interface SiteLedger {
  /** First copies of everything that is accepted, by event id. */
  unique: ReadonlyMap<string, WorldEvent>;
  byName: ReadonlyMap<string, number>;
  people: number;
  /** People who reach each of FUNNEL_STEPS. */
  funnel: readonly number[];
}

/** Sums over all requests: sent = accepted + rejected + filtered + refused, and accepted = unique + duplicates. */
export interface Totals {
  requests: number;
  sent: number;
  accepted: number;
  rejected: number;
  /** Bots, prefetches and blocked traffic, which are answered with fewer accepted and no error. */
  filtered: number;
  /** In requests that are refused whole. */
  refused: number;
  dropped: number;
  duplicates: number;
}

export interface Ledger {
  sites: Record<SiteSlot, SiteLedger>;
  totals: Totals;
}

function siteLedger(events: readonly WorldEvent[]): SiteLedger {
  const unique = new Map<string, WorldEvent>();
  for (const event of events) if (!unique.has(event.eventId)) unique.set(event.eventId, event);
  const personOf = resolvePeople(unique.values());
  const people = Map.groupBy(unique.values(), (event) => personOf(event.visitor));
  const byName = Map.groupBy(unique.values(), (event) => event.name);
  return {
    unique,
    byName: new Map([...byName].map(([name, named]) => [name, named.length])),
    people: people.size,
    funnel: countSteps([...people.values()].map(stepsReached)),
  };
}

/** What must be true after all these requests have been answered, however often each was resent. */
export function drawLedger(requests: readonly PlannedRequest[]): Ledger {
  const planned = requests.flatMap((request) => request.events);
  const count = (fate: string): number => planned.filter((event) => event.fate === fate).length;
  const accepted = planned.filter(({ fate }) => fate === 'accepted').map(({ event }) => event);
  const ledgerOf = (slot: SiteSlot): SiteLedger => siteLedger(accepted.filter((event) => event.siteSlot === slot));
  const sites = { shop: ledgerOf('shop'), travel: ledgerOf('travel') };
  const unique = SITE_SLOTS.reduce((sum, slot) => sum + sites[slot].unique.size, 0);
  return {
    sites,
    totals: {
      requests: requests.length,
      sent: planned.length,
      accepted: accepted.length,
      rejected: count('rejected'),
      filtered: count('filtered'),
      refused: count('refused'),
      dropped: requests.reduce((sum, { request }) => sum + request.expect.dropped, 0),
      duplicates: accepted.length - unique,
    },
  };
}
