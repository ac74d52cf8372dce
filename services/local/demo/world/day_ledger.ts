// What the demo's answers must be: totals, persons and the funnel, from its own events.
import { type PlannedRequest, SITE_SLOTS, type SiteSlot, type WorldEvent } from './demo_event.ts';

export type Ledger = ReturnType<typeof drawLedger>;

function siteLedger(events: readonly WorldEvent[]) {
  /** First copies of everything that is accepted, by event id. */
  const unique = new Map<string, WorldEvent>();
  for (const event of events) if (!unique.has(event.eventId)) unique.set(event.eventId, event);
  const personOf = resolvePeople(unique.values());
  const people = Map.groupBy(unique.values(), (event) => personOf(event.visitor));
  const byName = Map.groupBy(unique.values(), (event) => event.name);
  return {
    unique,
    byName: new Map([...byName].map(([name, named]) => [name, named.length])),
    people: people.size,
    /** People who reach each of FUNNEL_STEPS. */
    funnel: countSteps([...people.values()].map(stepsReached)),
  };
}

/**
 * What must be true after all these requests have been answered, however often each was resent. Sums over all requests: sent =
 * accepted + rejected + filtered + refused, and accepted = unique + duplicates.
 */
export function drawLedger(requests: readonly PlannedRequest[]) {
  const planned = requests.flatMap((request) => request.events);
  const count = (fate: string): number => planned.filter((event) => event.fate === fate).length;
  const accepted = planned.filter(({ fate }) => fate === 'accepted').map(({ event }) => event);
  const ledgerOf = (slot: SiteSlot) => siteLedger(accepted.filter((event) => event.siteSlot === slot));
  const sites = { shop: ledgerOf('shop'), travel: ledgerOf('travel') };
  const unique = SITE_SLOTS.reduce((sum, slot) => sum + sites[slot].unique.size, 0);
  return {
    sites,
    totals: {
      requests: requests.length,
      sent: planned.length,
      accepted: accepted.length,
      rejected: count('rejected'),
      /** Bots, prefetches and blocked traffic, which are answered with fewer accepted and no error. */
      filtered: count('filtered'),
      /** In requests that are refused whole. */
      refused: count('refused'),
      dropped: requests.reduce((sum, { request }) => sum + request.expect.dropped, 0),
      duplicates: accepted.length - unique,
    },
  };
}

/**
 * Who is who, by union-find over visitors and the identities their events stitch: two visitors are one person when a chain
 * of shared identities joins them.
 *
 * @returns the person's key for a visitor's key; the same key for the same person, otherwise meaningless
 */
export function resolvePeople(events: Iterable<WorldEvent>): (visitor: string) => string {
  const parents = new Map<string, string>();
  const rootOf = (node: string): string => {
    let root = node;
    for (let parent = parents.get(root); parent !== undefined; parent = parents.get(root)) root = parent;
    if (root !== node) parents.set(node, root);
    return root;
  };
  for (const event of events) {
    for (const identity of event.stitches) {
      const visitor = rootOf(`visitor:${event.visitor}`);
      const other = rootOf(identity);
      if (visitor !== other) parents.set(visitor, other);
    }
  }
  return (visitor) => rootOf(`visitor:${visitor}`);
}

export const FUNNEL_STEPS: readonly string[] = ['page_view', 'view_item', 'add_to_cart', 'begin_checkout', 'purchase'];

/** All steps within this time of the first: long enough for the events that arrive days late. */
export const FUNNEL_WINDOW_MS = 30 * 86_400_000;

/** The number of steps reached in order, from 0, with all of them within FUNNEL_WINDOW_MS of the first. */
export function stepsReached(events: readonly Pick<WorldEvent, 'name' | 'at'>[]): number {
  const deeds = events
    .map(({ name, at }) => ({ step: FUNNEL_STEPS.indexOf(name), at }))
    .filter(({ step }) => step >= 0)
    .toSorted((a, b) => a.at - b.at || a.step - b.step);
  // startOf[n] is the latest first step from which step n has been reached so far.
  const startOf: (number | undefined)[] = [];
  for (const { step, at } of deeds) {
    const start = step === 0 ? at : startOf[step - 1];
    if (start !== undefined && at - start <= FUNNEL_WINDOW_MS) startOf[step] = start;
  }
  return startOf.length;
}

/** People who reached at least each step, from how far each person got. */
export function countSteps(reached: Iterable<number>): number[] {
  const counts = FUNNEL_STEPS.map(() => 0);
  for (const steps of reached) {
    for (let step = 0; step < steps; step++) counts[step] = (counts[step] ?? 0) + 1;
  }
  return counts;
}
