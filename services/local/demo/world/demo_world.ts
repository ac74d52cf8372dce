import { drawLedger, type Ledger } from './day_ledger.ts';
import { type DemoRequest, type PlannedRequest, SITE_SLOTS, type SiteSlot } from './demo_event.ts';
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
