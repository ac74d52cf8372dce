import type { PlannedRequest, WorldEvent } from './demo_event.ts';
import type { Outing } from './demo_visitor.ts';
import type { Device } from './devices.ts';
import type { Random } from './random.ts';
import { cut, EVENTS_PER_REQUEST_MAX, fromBrowser, fromServer, plannedAs } from './requests.ts';
import { ORDER_EVENT } from './shopping_session.ts';

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
  const shouts = random.chance(0.3);
  return [
    fromBrowser(
      device,
      plannedAs(
        'accepted',
        again.map((event) => (shouts ? shout(event) : event)),
      ),
    ),
  ];
}

function shout(event: WorldEvent): WorldEvent {
  return { ...event, wire: { ...event.wire, uuid: event.wire.uuid.toUpperCase() } };
}

/** The web purchases that the site's server reports too, under the uuid the browser uses (SPEC 2.1, `uuid`). */
export function copyToServer(random: Random, outings: readonly Outing[]): PlannedRequest[] {
  const copies = outings.flatMap(({ device, events }) =>
    device === null
      ? []
      : events
          .filter((event) => event.name === ORDER_EVENT && random.chance(SERVER_COPY_SHARE))
          .map((event) => asServerCopy(event, device)),
  );
  return cut(copies, 8).map((piece) => fromServer(plannedAs('accepted', piece), random.chance(0.5)));
}

function asServerCopy(event: WorldEvent, device: Device): WorldEvent {
  const shopper = { client_ip_address: device.ip, client_user_agent: device.userAgent };
  return { ...event, wire: { ...event.wire, properties: { ...event.wire.properties, ...shopper } } };
}

/** Sales without a browser, reported in batches up to the most a request may hold. */
export function reportOffline(random: Random, sales: readonly WorldEvent[]): PlannedRequest[] {
  const requests = cut(sales, EVENTS_PER_REQUEST_MAX).map((piece) =>
    fromServer(plannedAs('accepted', piece), random.chance(0.5)),
  );
  // The nightly job of the first till crashed half way and ran again.
  const again = sales.slice(0, 10);
  return again.length === 0 ? requests : [...requests, fromServer(plannedAs('accepted', again), false)];
}
