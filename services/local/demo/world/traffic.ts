// Events as requests: from browsers and servers, repeated, late, damaged.
import type {
  DemoRequest,
  Expectation,
  Fate,
  PlannedEvent,
  PlannedRequest,
  SiteSlot,
  WireEvent,
  WorldEvent,
} from './demo_event.ts';
import type { Outing } from './demo_visitor.ts';
import { CRAWLERS, type Device, distinctId, drawDevice } from './people.ts';
import { type Random, randomFor } from './random.ts';
import { type Day, ORDER_EVENT, playSession, STOREFRONTS, type Visitor } from './shopping_session.ts';

const RESEND_SHARE = 0.05;
const SERVER_COPY_SHARE = 0.6;

/** What a browser sends for one session: a request each few events, the last one perhaps as a beacon on leaving. */
export function sendSession(random: Random, device: Device, events: readonly WorldEvent[]): PlannedRequest[] {
  // A visitor without a cookie is named by the day of arrival, so the whole session must arrive at once.
  const pieces = device.distinctId === null ? [events] : cut(events, random.whole(8, 24));
  return pieces.map((piece, nth) => {
    const leaving = nth === pieces.length - 1 && random.chance(0.35);
    return fromBrowser(device, plannedAs('accepted', piece), leaving ? 'beacon' : 'fetch');
  });
}

/**
 * A page that never saw its answer sends some of its events again, in another request. Now and then an intermediate has
 * turned the uuid to capitals; it is still the same event.
 */
export function resend(random: Random, device: Device, events: readonly WorldEvent[]): PlannedRequest[] {
  // Without a cookie the copy could arrive on another day than the first, under another name.
  if (device.distinctId === null || !random.chance(RESEND_SHARE)) return [];
  const from = random.whole(0, events.length - 1);
  const again = events.slice(from, from + random.whole(1, 6));
  return [fromBrowser(device, plannedAs('accepted', random.chance(0.3) ? again.map(shout) : again))];
}

function shout(event: WorldEvent): WorldEvent {
  return { ...event, wire: { ...event.wire, uuid: event.wire.uuid.toUpperCase() } };
}

/** The web purchases that the site's server reports too, under the uuid the browser uses. */
export function copyToServer(random: Random, outings: readonly Outing[]): PlannedRequest[] {
  const copies = outings.flatMap(({ device, events }) => {
    if (device === null) return [];
    const orders = events.filter((event) => event.name === ORDER_EVENT && random.chance(SERVER_COPY_SHARE));
    return orders.map((event) => asServerCopy(event, device));
  });
  return cut(copies, 8).map((piece) => fromServer(plannedAs('accepted', piece), random.chance(0.5)));
}

function asServerCopy(event: WorldEvent, device: Device): WorldEvent {
  const shopper = { client_ip_address: device.ip, client_user_agent: device.userAgent };
  return { ...event, wire: { ...event.wire, properties: { ...event.wire.properties, ...shopper } } };
}

/** Sales without a browser, reported in batches up to the most a request may hold. */
export function reportOffline(random: Random, sales: readonly WorldEvent[]): PlannedRequest[] {
  const batches = cut(sales, EVENTS_PER_REQUEST_MAX);
  const requests = batches.map((piece) => fromServer(plannedAs('accepted', piece), random.chance(0.5)));
  // The nightly job of the first till crashed half way and ran again.
  const again = sales.slice(0, 10);
  return again.length === 0 ? requests : [...requests, fromServer(plannedAs('accepted', again), false)];
}

/** A limit of the API: docs/sending.md. */
const EVENTS_PER_REQUEST_MAX = 50;

function expectationOf(events: readonly PlannedEvent[]): Expectation {
  const count = (fate: Fate): number => events.filter((planned) => planned.fate === fate).length;
  const accepted = count('accepted');
  const rejected = count('rejected');
  if (count('refused') > 0) return { status: 413, accepted: 0, rejected: 0, dropped: 0 };
  const noneIsGood = rejected > 0 && rejected === events.length;
  return { status: noneIsGood ? 400 : 200, accepted, rejected, dropped: 0 };
}

function plan(
  envelope: Pick<DemoRequest, 'caller' | 'keyIn' | 'headers'>,
  events: readonly PlannedEvent[],
): PlannedRequest {
  const body = JSON.stringify({ events: events.map(({ event }) => event.wire) });
  const siteSlot = slotOf(events);
  const request = { siteSlot, ...envelope, body, eventCount: events.length, expect: expectationOf(events) };
  return { request, events };
}

const slotOf = (events: readonly PlannedEvent[]): SiteSlot => events[0]?.event.siteSlot ?? 'shop';

/**
 * A request as the tag on `device` makes it: `fetch` sends JSON with the key in a header, `beacon` text with the key in the
 * query.
 */
function fromBrowser(
  device: Device,
  events: readonly PlannedEvent[],
  transport: 'fetch' | 'beacon' = 'fetch',
  more: Record<string, string> = {},
): PlannedRequest {
  const { origin } = STOREFRONTS[slotOf(events)];
  const isBeacon = transport === 'beacon';
  const headers = {
    'content-type': isBeacon ? 'text/plain;charset=UTF-8' : 'application/json',
    'user-agent': device.userAgent,
    'accept-language': device.language,
    'x-forwarded-for': device.ip,
    origin,
    referer: `${origin}/`,
    'sec-fetch-mode': isBeacon ? 'no-cors' : 'cors',
    'sec-fetch-site': 'cross-site',
    'sec-fetch-dest': 'empty',
    ...more,
  };
  return plan({ caller: 'browser', keyIn: isBeacon ? 'query' : 'header', headers }, events);
}

/** Where a server-side caller stands (203.0.113.0/24 is kept for documentation, RFC 5737) and what it calls itself. */
const SERVERS: Record<SiteSlot, { ip: string; userAgent: string }> = {
  shop: { ip: '203.0.113.10', userAgent: 'undici' },
  travel: { ip: '203.0.113.20', userAgent: 'python-requests/2.32.5' },
};

/** A request as the site's own servers, tills and call centres make it. */
function fromServer(events: readonly PlannedEvent[], compressed: boolean): PlannedRequest {
  const { ip, userAgent } = SERVERS[slotOf(events)];
  const headers = { 'content-type': 'application/json', 'user-agent': userAgent, 'x-forwarded-for': ip };
  const packed = compressed ? { ...headers, 'content-encoding': 'gzip' } : headers;
  return plan({ caller: 'server', keyIn: 'header', headers: packed }, events);
}

function plannedAs(fate: Fate, events: readonly WorldEvent[]): PlannedEvent[] {
  return events.map((event) => ({ event, fate }));
}

/** The list cut into pieces of at most `size`, in order. */
function cut<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, nth) => list.slice(nth * size, (nth + 1) * size));
}

/**
 * Somebody beside the day's visitors, who looks round until there are this many events; `changes` make another device of
 * theirs.
 */
function extra(
  day: Day,
  siteSlot: SiteSlot,
  kind: string,
  index = 0,
  { daysAgo = 0, eventsMin = 1 } = {},
  changes: (random: Random) => Partial<Device> = () => ({}),
): { random: Random; device: Device; events: WorldEvent[] } {
  const label = `${siteSlot}/${kind}/${index}`;
  const random = randomFor(`${day.identity.seed}/${label}`);
  const visitor: Visitor = { identity: day.identity, siteSlot, label, random, customer: null, written: [] };
  // Addresses above those of the visitors.
  const drawn = drawDevice(random, 90_000 + index, distinctId(day.identity, label), day.endsAt);
  const device = { ...drawn, ...changes(random) };
  while (visitor.written.length < eventsMin) {
    const startsAt = day.endsAt - random.whole(3_600_000, 82_800_000) - daysAgo * 86_400_000;
    playSession(visitor, { device, startsAt, depth: 'browse', resumes: false, identifies: 'not' });
  }
  return { random, device, events: visitor.written };
}

/** A crawler that runs the tag: answered `{ accepted: 0 }`. */
export function crawl(day: Day, siteSlot: SiteSlot, index: number): PlannedRequest {
  const { device, events } = extra(day, siteSlot, 'crawler', index, {}, (random) => ({
    userAgent: random.pick(CRAWLERS),
  }));
  return fromBrowser(device, plannedAs('filtered', events));
}

/** A page that the browser fetched ahead and nobody looked at: counted with the bots. */
export function prefetch(day: Day, siteSlot: SiteSlot, index: number): PlannedRequest {
  const { random, device, events } = extra(day, siteSlot, 'prefetch', index);
  const purpose = random.pick(['prefetch', 'prefetch;prerender']);
  return fromBrowser(device, plannedAs('filtered', events.slice(0, 1)), 'fetch', { 'sec-purpose': purpose });
}

/** Somebody on an address that the site has a block rule for. */
export function comeFromBlocked(day: Day, siteSlot: SiteSlot, index: number, ip: string): PlannedRequest {
  const { device, events } = extra(day, siteSlot, 'blocked', index, {}, () => ({ ip }));
  return fromBrowser(device, plannedAs('filtered', events));
}

/** A phone that was off line: its events arrive days after they happened, and are accepted. */
export function arriveLate(day: Day, siteSlot: SiteSlot, index: number, daysAgo: number): PlannedRequest {
  const { device, events } = extra(day, siteSlot, `late/${daysAgo}`, index, { daysAgo });
  return fromBrowser(device, plannedAs('accepted', events));
}

/** A script that collects one event more than a request may hold: 413, and nothing of it is taken. */
export function overfill(day: Day, siteSlot: SiteSlot): PlannedRequest {
  const eventsMin = EVENTS_PER_REQUEST_MAX + 1;
  const { events } = extra(day, siteSlot, 'overfull', 0, { eventsMin });
  return fromServer(plannedAs('refused', events.slice(0, eventsMin)), false);
}

/** A server that passes on what its pages logged, with a crawler's page among it: only that one is filtered. */
export function relay(day: Day, siteSlot: SiteSlot): PlannedRequest {
  const { device, events } = extra(day, siteSlot, 'relayed');
  const planned = events.map((event, nth): PlannedEvent => {
    const userAgent = nth === 0 ? (CRAWLERS[0] ?? '') : device.userAgent;
    return { event: asServerCopy(event, { ...device, userAgent }), fate: nth === 0 ? 'filtered' : 'accepted' };
  });
  return fromServer(planned, true);
}

/** Faults for which one event is rejected and its neighbours are not. */
const DAMAGES: readonly ((wire: WireEvent) => WireEvent)[] = [
  (wire) => ({ ...wire, event: '   ' }),
  (wire) => ({ ...wire, timestamp: 'yesterday at noon' }),
  (wire) => ({ ...wire, properties: { ...wire.properties, $action_source: 'carrier_pigeon' } }),
  (wire) => ({ ...wire, properties: { ...wire.properties, ['x'.repeat(201)]: 1 } }),
  (wire) => ({ ...wire, event: 'x'.repeat(201) }),
];

/** A batch of which every `every`-th event is bad; 1 makes all bad, which is answered 400. */
export function sendDamaged(day: Day, siteSlot: SiteSlot, every: number): PlannedRequest {
  const { device, events } = extra(day, siteSlot, `damaged/${every}`, 0, { eventsMin: 12 });
  const planned = events.map((event, nth): PlannedEvent => {
    const damage = nth % every === 0 ? DAMAGES[(nth / every) % DAMAGES.length] : undefined;
    if (damage === undefined) return { event, fate: 'accepted' };
    return { event: { ...event, wire: damage(event.wire) }, fate: 'rejected' };
  });
  return fromBrowser(device, planned);
}
