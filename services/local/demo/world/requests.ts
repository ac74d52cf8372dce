import type {
  DemoRequest,
  Expectation,
  Fate,
  PlannedEvent,
  PlannedRequest,
  SiteSlot,
  WorldEvent,
} from './demo_event.ts';
import type { Device } from './devices.ts';
import { STOREFRONTS } from './storefronts.ts';

/** SPEC 8. */
export const EVENTS_PER_REQUEST_MAX = 50;

function expectationOf(events: readonly PlannedEvent[]): Expectation {
  const count = (fate: Fate): number => events.filter((planned) => planned.fate === fate).length;
  const accepted = count('accepted');
  const rejected = count('rejected');
  if (count('refused') > 0) return { status: 413, accepted: 0, rejected: 0, dropped: 0 };
  const noneIsGood = rejected > 0 && rejected === events.length;
  return { status: noneIsGood ? 400 : 200, accepted, rejected, dropped: 0 };
}

type Envelope = Pick<DemoRequest, 'caller' | 'keyIn' | 'headers'>;

function plan(siteSlot: SiteSlot, envelope: Envelope, events: readonly PlannedEvent[]): PlannedRequest {
  const body = JSON.stringify({ events: events.map((planned) => planned.event.wire) });
  return {
    request: { siteSlot, ...envelope, body, eventCount: events.length, expect: expectationOf(events) },
    events,
  };
}

/** How a page sends: `fetch` as JSON with the key in a header, `beacon` as text with the key in the query. */
export type Transport = 'fetch' | 'beacon';

function browserEnvelope(
  siteSlot: SiteSlot,
  device: Device,
  transport: Transport,
  more: Record<string, string>,
): Envelope {
  const { origin } = STOREFRONTS[siteSlot];
  return {
    caller: 'browser',
    keyIn: transport === 'beacon' ? 'query' : 'header',
    headers: {
      'content-type': transport === 'beacon' ? 'text/plain;charset=UTF-8' : 'application/json',
      'user-agent': device.userAgent,
      'accept-language': device.language,
      'x-forwarded-for': device.ip,
      origin,
      referer: `${origin}/`,
      'sec-fetch-mode': transport === 'beacon' ? 'no-cors' : 'cors',
      'sec-fetch-site': 'cross-site',
      'sec-fetch-dest': 'empty',
      ...more,
    },
  };
}

/** A request as the tag on `device` makes it. */
export function fromBrowser(
  device: Device,
  events: readonly PlannedEvent[],
  transport: Transport = 'fetch',
  more: Record<string, string> = {},
): PlannedRequest {
  const siteSlot = events[0]?.event.siteSlot ?? 'shop';
  return plan(siteSlot, browserEnvelope(siteSlot, device, transport, more), events);
}

/** Where a server-side caller stands (203.0.113.0/24 is kept for documentation, RFC 5737) and what it calls itself. */
const SERVERS: Record<SiteSlot, { ip: string; userAgent: string }> = {
  shop: { ip: '203.0.113.10', userAgent: 'undici' },
  travel: { ip: '203.0.113.20', userAgent: 'python-requests/2.32.5' },
};

/** A request as the site's own servers, tills and call centres make it. */
export function fromServer(events: readonly PlannedEvent[], compressed: boolean): PlannedRequest {
  const siteSlot = events[0]?.event.siteSlot ?? 'shop';
  const { ip, userAgent } = SERVERS[siteSlot];
  const headers = { 'content-type': 'application/json', 'user-agent': userAgent, 'x-forwarded-for': ip };
  const packed = compressed ? { ...headers, 'content-encoding': 'gzip' } : headers;
  return plan(siteSlot, { caller: 'server', keyIn: 'header', headers: packed }, events);
}

/** The same fate for all. */
export function plannedAs(fate: Fate, events: readonly WorldEvent[]): PlannedEvent[] {
  return events.map((event) => ({ event, fate }));
}

/** The list cut into pieces of at most `size`, in order. */
export function cut<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, nth) => list.slice(nth * size, (nth + 1) * size));
}
