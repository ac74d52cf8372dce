import { type DemoRequest, type PlannedRequest, SITE_SLOTS, type SiteSlot, type WorldEvent } from './demo_event.ts';
import { playVisitor, sellToStranger } from './demo_visitor.ts';
import type { RunIdentity } from './people.ts';
import { randomFor } from './random.ts';
import type { Day } from './shopping_session.ts';
import {
  arriveLate,
  comeFromBlocked,
  copyToServer,
  crawl,
  overfill,
  prefetch,
  relay,
  reportOffline,
  resend,
  sendDamaged,
  sendSession,
} from './traffic.ts';

export interface WorldOptions extends RunIdentity {
  /** Web visitors on both sites together; each gives about 11 events. */
  visitors: number;
  /** Milliseconds since 1970 UTC; the day is the 24 hours before it. */
  endsAt: number;
  /** Addresses that the sites have a block rule for; nobody comes from one where none is named. */
  blockedIps?: Partial<Record<SiteSlot, string>>;
}

export interface World {
  identity: RunIdentity;
  /** In the order of the day, resends and reports after what they repeat. */
  requests: readonly DemoRequest[];
  ledger: Ledger;
}

const SHOP_SHARE = 0.6;
/** Per site and web visitor. */
const CRAWLER_SHARE = 0.03;
const PREFETCH_SHARE = 0.02;
const STRANGER_SHARE = 0.04;
/** The last is too old for Meta's web events, though not for its physical_store ones. */
const LATE_DAYS = [1, 3, 9] as const;
const LATE_SHARE = 0.005;
const BLOCKED_SESSIONS = 5;

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: Math.ceil(count) }, (_, index) => make(index));
}

/** A request's place in the day: when its last event happened. Late events count as sent at the day's end. */
function sentAt(day: Day, { events }: PlannedRequest): number {
  const last = Math.max(...events.map(({ event }) => event.at));
  return last < day.endsAt - 86_400_000 ? day.endsAt : last;
}

function playSite(day: Day, siteSlot: SiteSlot, visitors: number, blockedIp: string | undefined): PlannedRequest[] {
  const random = randomFor(`${day.identity.seed}/${siteSlot}/traffic`);
  const outings = times(visitors, (index) => playVisitor(day, siteSlot, index)).flat();
  const anonymousLimiter = times(visitors * STRANGER_SHARE, (index) =>
    sellToStranger(day, siteSlot, index, index % 10 === 9 ? 9 : 0),
  );
  const first = outings.flatMap(({ device, events }) => (device === null ? [] : sendSession(random, device, events)));
  const noise = [
    ...times(visitors * CRAWLER_SHARE, (index) => crawl(day, siteSlot, index)),
    ...times(visitors * PREFETCH_SHARE, (index) => prefetch(day, siteSlot, index)),
    ...LATE_DAYS.flatMap((daysAgo) =>
      times(visitors * LATE_SHARE, (index) => arriveLate(day, siteSlot, index, daysAgo)),
    ),
    ...(blockedIp ? times(BLOCKED_SESSIONS, (index) => comeFromBlocked(day, siteSlot, index, blockedIp)) : []),
    ...(siteSlot === 'shop' ? [overfill(day, siteSlot)] : []),
    relay(day, siteSlot),
    sendDamaged(day, siteSlot, siteSlot === 'shop' ? 3 : 1),
  ];
  const inOrder = [...first, ...noise].toSorted((a, b) => sentAt(day, a) - sentAt(day, b));
  const again = outings.flatMap(({ device, events }) => (device === null ? [] : resend(random, device, events)));
  const copies = copyToServer(random, outings);
  const sales = outings.filter(({ device }) => device === null).flatMap(({ events }) => events);
  return [...inOrder, ...again, ...copies, ...reportOffline(random, [...sales, ...anonymousLimiter])];
}

/** Puts the second list's elements evenly among the first's. */
function interleave<T>(long: readonly T[], short: readonly T[]): T[] {
  const step = (long.length + 1) / (short.length + 1);
  const placed = [
    ...long.map((value, nth) => ({ value, place: nth })),
    ...short.map((value, nth) => ({ value, place: (nth + 1) * step - 0.5 })),
  ];
  return placed.toSorted((a, b) => a.place - b.place).map(({ value }) => value);
}

/**
 * A day of a shop and of a travel site, and what must be found of it afterwards. Pure: the same options give the same
 * bytes; another `run` gives the same people and deeds under other ids and addresses.
 */
export function createWorld(options: WorldOptions): World {
  const identity = { seed: options.seed, run: options.run };
  const day: Day = { identity, endsAt: options.endsAt };
  const shopVisitors = Math.ceil(options.visitors * SHOP_SHARE);
  const visitorsOf = { shop: shopVisitors, travel: Math.max(1, options.visitors - shopVisitors) };
  const [shop, travel] = SITE_SLOTS.map((slot) => playSite(day, slot, visitorsOf[slot], options.blockedIps?.[slot]));
  const planned = interleave(shop ?? [], travel ?? []);
  return { identity, requests: planned.map(({ request }) => request), ledger: drawLedger(planned) };
}

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
function drawLedger(requests: readonly PlannedRequest[]) {
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
