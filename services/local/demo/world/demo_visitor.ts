import type { SiteSlot, WorldEvent } from './demo_event.ts';
import { type Customer, type Device, drawCustomer, drawDevice, identityOf, spellEmail } from './people.ts';
import { type Random, randomFor, type Weighted } from './random.ts';
import {
  basket,
  type Day,
  type Depth,
  deviceId,
  drawLines,
  identifiersOf,
  ORDER_EVENT,
  orderId,
  playSession,
  type SessionPlan,
  STOREFRONTS,
  type Visitor,
  write,
} from './shopping_session.ts';

/** A session's events and the device that sent them; null for what no browser sent. */
export interface Outing {
  device: Device | null;
  events: readonly WorldEvent[];
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Share of the day's visitors by hour since its start; the day ends with the evening's peak. */
const HOURS = [2, 1, 1, 1, 2, 3, 5, 7, 8, 7, 7, 8, 7, 6, 7, 8, 9, 11, 12].map(
  (weight, hour): Weighted<number> => [weight, hour],
);

const DEPTH_SHARES: readonly Weighted<Depth>[] = [
  [26, 'bounce'],
  [34, 'browse'],
  [16, 'cart'],
  [9, 'checkout'],
  [15, 'purchase'],
];

const SESSION_COUNTS = [62, 27, 11].map((weight, nth): Weighted<number> => [weight, nth + 1]);

type Channel = 'web' | 'physical_store' | 'phone_call';
const CHANNELS: readonly Weighted<Channel>[] = [
  [78, 'web'],
  [14, 'physical_store'],
  [8, 'phone_call'],
];

/** The person the day holds at `index`: what they did in each session, on which device, and perhaps at a till. */
export function playVisitor(day: Day, siteSlot: SiteSlot, index: number): Outing[] {
  const label = `${siteSlot}/visitor/${index}`;
  const random = randomFor(`${day.identity.seed}/${label}`);
  const depth = random.weigh(DEPTH_SHARES);
  const known = depth === 'purchase' || depth === 'checkout' || random.chance(0.12);
  const customer = known ? drawCustomer(day.identity, random, customerIndex(siteSlot, index)) : null;
  const visitor: Visitor = { identity: day.identity, siteSlot, label, random, customer, written: [] };
  const isUnconsented = !known && random.chance(0.06);
  const startsAt = day.endsAt - 24 * HOUR_MS + random.weigh(HOURS) * HOUR_MS + random.whole(0, HOUR_MS - 1);
  const address = index * 4 + (siteSlot === 'shop' ? 0 : 2);
  if (!isUnconsented) return playSessions(visitor, depth, startsAt, address);
  // One short session without a cookie. It fits one request, so that the day's salt cannot change in the middle of it.
  const device = drawDevice(random, address, null, startsAt);
  return [perform(visitor, { device, startsAt, depth: 'browse', resumes: false, identifies: 'not' })];
}

/** Numbers below a million belong to the web visitors of the two sites, odd and even ones. */
const customerIndex = (siteSlot: SiteSlot, index: number): number => index * 2 + (siteSlot === 'shop' ? 0 : 1);

function playSessions(visitor: Visitor, depth: Depth, startsAt: number, address: number): Outing[] {
  const { random, customer } = visitor;
  const devices = [0, 1].map((nth) =>
    drawDevice(random, address + nth, deviceId(visitor, nth), startsAt - random.whole(0, 30) * 24 * HOUR_MS),
  ) as [Device, Device];
  const channel = depth === 'purchase' ? random.weigh(CHANNELS) : 'web';
  const reach = channel === 'web' ? depth : random.pick<Depth>(['browse', 'cart', 'checkout']);
  const outings = planSessions(random, devices, startsAt, reach, customer !== null).map((plan) =>
    perform(visitor, plan),
  );
  if (channel === 'web' || customer === null) return outings;
  const soldAt = (visitor.written.at(-1)?.at ?? startsAt) + random.whole(20, 60) * MINUTE_MS;
  return [...outings, { device: null, events: [sellOffline(visitor, customer, channel, soldAt)] }];
}

function perform(visitor: Visitor, plan: SessionPlan): Outing {
  const before = visitor.written.length;
  playSession(visitor, plan);
  return { device: plan.device, events: visitor.written.slice(before) };
}

/**
 * One to three sessions, the last of which goes as deep as the visitor does. Someone who says who they are may go on with
 * a second device; the two are then joined by the same e-mail, told on both.
 */
function planSessions(
  random: Random,
  devices: [Device, Device],
  startsAt: number,
  depth: Depth,
  known: boolean,
): SessionPlan[] {
  const count = random.weigh(SESSION_COUNTS);
  const second = known && count > 1 && random.chance(0.6);
  const plans: SessionPlan[] = [];
  let at = startsAt;
  for (let nth = 1; nth <= count; nth++) {
    const last = nth === count;
    const device = second && last ? devices[1] : devices[0];
    const asked = known && (second ? nth === 1 || last : random.chance(0.4));
    const likely = depth === 'bounce' ? 'bounce' : 'browse';
    const earlier = ['bounce', 'browse', likely, depth === 'purchase' ? 'cart' : 'browse'] as const;
    plans.push({
      device,
      startsAt: at,
      depth: last ? depth : random.pick(earlier),
      resumes: last && count > 1 && plans.at(-1)?.depth === 'cart',
      identifies: asked ? (nth === 1 ? random.pick(['$identify', 'sign_up', 'login']) : 'login') : 'not',
    });
    at += random.whole(35, 90) * MINUTE_MS;
  }
  return plans;
}

type OfflineSource = 'physical_store' | 'phone_call' | 'chat' | 'email' | 'system_generated';

/**
 * A sale without a browser to someone who was on the site before. Half of them reuse the browser's distinct id
 * and hand over everything known; the others have the e-mail or, on the phone, the phone number only, so that it
 * joins the web journey only if the customer was identified there.
 */
function sellOffline(
  visitor: Visitor,
  customer: Customer,
  source: 'physical_store' | 'phone_call',
  at: number,
): WorldEvent {
  const { random } = visitor;
  const reuses = random.chance(0.5);
  const full = identifiersOf(customer, random.whole(0, 11));
  if (reuses) return sell(visitor, source, at, deviceId(visitor, 0), full);
  const { email, phone } = full.properties;
  const isByPhone = source === 'phone_call';
  const properties = isByPhone ? { phone } : { email };
  const stitches = [isByPhone ? identityOf.phone(customer) : identityOf.email(customer)];
  return sell(visitor, source, at, null, { properties, stitches });
}

function sell(
  visitor: Visitor,
  source: OfflineSource,
  at: number,
  distinctId: string | null,
  who: { properties: Record<string, unknown>; stitches: string[] },
): WorldEvent {
  const store = STOREFRONTS[visitor.siteSlot];
  const goods = basket(store, drawLines(visitor.random, store));
  const properties = { $action_source: source, order_id: orderId(visitor), ...goods, ...who.properties };
  const deed = { name: ORDER_EVENT, at, actionSource: source, stitches: who.stitches };
  // No browser, no address of their own: the customer is known by what was handed over, one key per sale.
  return write(visitor, deed, properties, distinctId, `${visitor.label}/offline`);
}

const TILL = 'physical_store';
const WALK_IN_SOURCES: readonly OfflineSource[] = [TILL, TILL, 'phone_call', 'chat', 'email', 'system_generated'];

/**
 * A sale to someone who was never on the site: they become a person by e-mail alone.
 *
 * @param daysAgo how late it is reported
 */
export function sellToStranger(day: Day, siteSlot: Visitor['siteSlot'], index: number, daysAgo: number): WorldEvent {
  const label = `${siteSlot}/stranger/${index}`;
  const random = randomFor(`${day.identity.seed}/${label}`);
  const customer = drawCustomer(day.identity, random, 1_000_000 + customerIndex(siteSlot, index));
  const visitor: Visitor = { identity: day.identity, siteSlot, label, random, customer, written: [] };
  const source = daysAgo > 7 ? 'physical_store' : random.pick(WALK_IN_SOURCES);
  const at = day.endsAt - daysAgo * 86_400_000 - random.whole(60_000, 36_000_000);
  return sell(visitor, source, at, null, {
    properties: { email: spellEmail(customer.email, random.whole(0, 2)) },
    stitches: [identityOf.email(customer)],
  });
}
