import type { ActionSource } from '#schemas/event.ts';
import type { SiteSlot, WireEvent, WorldEvent } from './demo_event.ts';
import type { Device } from './devices.ts';
import { distinctId, eventId, type RunIdentity } from './ids.ts';
import { type Customer, identityOf, spellEmail } from './people.ts';
import { spellPhone } from './phones.ts';
import type { Random } from './random.ts';

export interface Day {
  identity: RunIdentity;
  /** Milliseconds since 1970 UTC; the day is the 24 hours before it. */
  endsAt: number;
}

/** Everything that is needed to write down what one visitor of one site did. */
export interface Visitor {
  identity: RunIdentity;
  siteSlot: SiteSlot;
  /** Names the visitor inside the run, e.g. `shop/visitor/12`; ids are made from it. */
  label: string;
  random: Random;
  /** Null until the visitor is someone who says who they are at some point. */
  customer: Customer | null;
  /** Events written so far, in the order written. */
  written: WorldEvent[];
}

export interface Deed {
  name: string;
  at: number;
  actionSource?: ActionSource;
  /** Null: no distinct id is sent. */
  distinctId: string | null;
  /** The visitor's key in the ledger when no distinct id is sent. */
  anonymousKey: string;
  properties: Record<string, unknown>;
  stitches?: readonly string[];
}

/** A visitor's distinct id on their `device`-th device. */
export function deviceId(visitor: Visitor, device: number): string {
  return distinctId(visitor.identity, `${visitor.label}/device/${device}`);
}

/** ISO 8601 in UTC, or with one visitor in four as a local time with its offset. */
function writeTimestamp(at: number, style: number): string {
  if (style % 4 !== 3) return new Date(at).toISOString();
  return new Date(at + 7_200_000).toISOString().replace('Z', '+02:00');
}

/** Writes one event down and returns it. */
export function write(visitor: Visitor, deed: Deed): WorldEvent {
  const id = eventId(visitor.identity, `${visitor.label}/event/${visitor.written.length}`);
  const wire: WireEvent = {
    event: deed.name,
    uuid: id,
    ...(deed.distinctId === null ? {} : { distinct_id: deed.distinctId }),
    timestamp: writeTimestamp(deed.at, visitor.written.length),
    properties: deed.properties,
  };
  const event: WorldEvent = {
    siteSlot: visitor.siteSlot,
    eventId: id,
    name: deed.name,
    at: deed.at,
    actionSource: deed.actionSource ?? 'website',
    visitor: deed.distinctId ?? deed.anonymousKey,
    stitches: deed.stitches ?? [],
    wire,
  };
  visitor.written.push(event);
  return event;
}

/** What a browser's tag adds to every event from `device`. */
export function tagProperties(device: Device, origin: string, path: string, title: string): Record<string, unknown> {
  const url = `${origin}${path}`;
  return { $current_url: url, page_location: url, page_title: title, language: device.language, fbp: device.fbp };
}

/** The identifiers a form, a till or a call centre hands over, spelled as people type them, and what they stitch. */
export function identifiersOf(
  customer: Customer,
  style: number,
): { properties: Record<string, unknown>; stitches: string[] } {
  return {
    properties: {
      email: spellEmail(customer.email, style),
      phone: spellPhone(customer.phone, style),
      external_id: customer.externalId,
      first_name: customer.firstName,
      last_name: customer.lastName,
      city: customer.city,
      zip: customer.zip,
      country: customer.country,
    },
    stitches: [identityOf.email(customer), identityOf.phone(customer), identityOf.externalId(customer)],
  };
}
