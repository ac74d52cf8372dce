import type { PlannedEvent, PlannedRequest, SiteSlot, WireEvent, WorldEvent } from './demo_event.ts';
import { CRAWLERS, type Device, drawDevice } from './devices.ts';
import { distinctId } from './ids.ts';
import { randomFor } from './random.ts';
import { EVENTS_PER_REQUEST_MAX, fromBrowser, fromServer, plannedAs } from './requests.ts';
import { playSession } from './shopping_session.ts';
import type { Day, Visitor } from './visit.ts';

function extra(day: Day, siteSlot: SiteSlot, kind: string, index: number): { visitor: Visitor; device: Device } {
  const label = `${siteSlot}/${kind}/${index}`;
  const random = randomFor(`${day.identity.seed}/${label}`);
  const visitor: Visitor = { identity: day.identity, siteSlot, label, random, customer: null, written: [] };
  // Addresses above those of the visitors.
  const device = drawDevice(random, 90_000 + index, distinctId(day.identity, label), day.endsAt);
  return { visitor, device };
}

function wander(visitor: Visitor, device: Device, startsAt: number): WorldEvent[] {
  playSession(visitor, { device, startsAt, depth: 'browse', resumes: false, identifies: 'not' });
  return visitor.written;
}

function someTime(day: Day, visitor: Visitor): number {
  return day.endsAt - visitor.random.whole(3_600_000, 82_800_000);
}

/** A crawler that runs the tag: answered `{ accepted: 0 }` (SPEC 4.1, rule 2). */
export function crawl(day: Day, siteSlot: SiteSlot, index: number): PlannedRequest {
  const { visitor, device } = extra(day, siteSlot, 'crawler', index);
  const crawler = { ...device, userAgent: visitor.random.pick(CRAWLERS) };
  return fromBrowser(crawler, plannedAs('filtered', wander(visitor, crawler, someTime(day, visitor))));
}

/** A page that the browser fetched ahead and nobody looked at: counted with the bots. */
export function prefetch(day: Day, siteSlot: SiteSlot, index: number): PlannedRequest {
  const { visitor, device } = extra(day, siteSlot, 'prefetch', index);
  const events = wander(visitor, device, someTime(day, visitor)).slice(0, 1);
  const purpose = visitor.random.pick(['prefetch', 'prefetch;prerender']);
  return fromBrowser(device, plannedAs('filtered', events), 'fetch', { 'sec-purpose': purpose });
}

/** Somebody on an address that the site has a block rule for. */
export function comeFromBlocked(day: Day, siteSlot: SiteSlot, index: number, ip: string): PlannedRequest {
  const { visitor, device } = extra(day, siteSlot, 'blocked', index);
  const blocked = { ...device, ip };
  return fromBrowser(blocked, plannedAs('filtered', wander(visitor, blocked, someTime(day, visitor))));
}

/** A phone that was off line: its events arrive days after they happened, and are accepted. */
export function arriveLate(day: Day, siteSlot: SiteSlot, index: number, daysAgo: number): PlannedRequest {
  const { visitor, device } = extra(day, siteSlot, `late/${daysAgo}`, index);
  return fromBrowser(
    device,
    plannedAs('accepted', wander(visitor, device, someTime(day, visitor) - daysAgo * 86_400_000)),
  );
}

/** A script that collects one event more than a request may hold: 413, and nothing of it is taken. */
export function overfill(day: Day, siteSlot: SiteSlot): PlannedRequest {
  const { visitor, device } = extra(day, siteSlot, 'overfull', 0);
  while (visitor.written.length <= EVENTS_PER_REQUEST_MAX) wander(visitor, device, someTime(day, visitor));
  return fromServer(plannedAs('refused', visitor.written.slice(0, EVENTS_PER_REQUEST_MAX + 1)), false);
}

/** A server that passes on what its pages logged, with a crawler's page among it: only that one is filtered. */
export function relay(day: Day, siteSlot: SiteSlot): PlannedRequest {
  const { visitor, device } = extra(day, siteSlot, 'relayed', 0);
  const events = wander(visitor, device, someTime(day, visitor));
  const planned = events.map((event, nth): PlannedEvent => {
    const client_user_agent = nth === 0 ? CRAWLERS[0] : device.userAgent;
    const properties = { ...event.wire.properties, client_ip_address: device.ip, client_user_agent };
    return { event: { ...event, wire: { ...event.wire, properties } }, fate: nth === 0 ? 'filtered' : 'accepted' };
  });
  return fromServer(planned, true);
}

type Damage = (wire: WireEvent) => WireEvent;

/** Faults for which one event is rejected and its neighbours are not. */
const DAMAGES: readonly Damage[] = [
  (wire) => ({ ...wire, event: '   ' }),
  (wire) => ({ ...wire, timestamp: 'yesterday at noon' }),
  (wire) => ({ ...wire, properties: { ...wire.properties, $action_source: 'carrier_pigeon' } }),
  (wire) => ({ ...wire, properties: { ...wire.properties, ['x'.repeat(201)]: 1 } }),
  (wire) => ({ ...wire, event: 'x'.repeat(201) }),
];

function damage(events: readonly WorldEvent[], every: number): PlannedEvent[] {
  return events.map((event, nth): PlannedEvent => {
    const break_ = nth % every === 0 ? DAMAGES[(nth / every) % DAMAGES.length] : undefined;
    if (break_ === undefined) return { event, fate: 'accepted' };
    return { event: { ...event, wire: break_(event.wire) }, fate: 'rejected' };
  });
}

/** A batch of which every `every`-th event is bad; 1 makes all bad, which is answered 400. */
export function sendDamaged(day: Day, siteSlot: SiteSlot, every: number): PlannedRequest {
  const { visitor, device } = extra(day, siteSlot, `damaged/${every}`, 0);
  while (visitor.written.length < 12) wander(visitor, device, someTime(day, visitor));
  return fromBrowser(device, damage(visitor.written, every));
}
