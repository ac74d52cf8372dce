import type { SiteSlot, WireEvent, WorldEvent } from './demo_event.ts';
import {
  type Customer,
  type Device,
  distinctId,
  eventId,
  identityOf,
  type RunIdentity,
  spellEmail,
  spellPhone,
} from './people.ts';
import type { Random, Weighted } from './random.ts';
import storefronts from './storefronts.json' with { type: 'json' };

export const STOREFRONTS = storefronts satisfies Record<SiteSlot, unknown>;
type Storefront = (typeof STOREFRONTS)[SiteSlot];
type Product = Storefront['products'][number];

interface Arrival {
  referrer: string | null;
  utm: Record<string, string>;
  click: 'gclid' | 'fbclid' | null;
}

const CAMPAIGNS: readonly Weighted<[referrer: string | null, utm: string, click: Arrival['click']]>[] = [
  [30, [null, '', null]],
  [22, ['https://www.google.com/', '', null]],
  [16, ['https://www.google.com/', 'google cpc brand_search', 'gclid']],
  [14, ['https://l.facebook.com/', 'facebook paid_social autumn_launch', 'fbclid']],
  [6, ['https://l.instagram.com/', 'instagram paid_social creators', 'fbclid']],
  [8, [null, 'newsletter email weekly_42', null]],
  [4, ['https://partner.example.org/', 'partner affiliate best_of_outdoor', null]],
];

function drawArrival(random: Random): Arrival {
  const [referrer, utm, click] = random.weigh(CAMPAIGNS);
  const [source = '', medium = '', campaign = ''] = utm.split(' ');
  return { referrer, click, utm: utm === '' ? {} : { utm_source: source, utm_medium: medium, utm_campaign: campaign } };
}

const DEPTHS = ['bounce', 'browse', 'cart', 'checkout', 'purchase'] as const;
export type Depth = (typeof DEPTHS)[number];

export interface SessionPlan {
  device: Device;
  startsAt: number;
  depth: Depth;
  /** The shopping goes on from an earlier session: straight to the cart, no browsing. */
  resumes: boolean;
  /** How the visitor tells who they are in this session. */
  identifies: 'not' | '$identify' | 'sign_up' | 'login';
}

interface Session {
  visitor: Visitor;
  store: Storefront;
  device: Device;
  /** The clock: the time of the last event. */
  at: number;
}

interface Line {
  product: Product;
  quantity: number;
}

/** Purchases are known by this property to the code that copies them to the server. */
export const ORDER_EVENT = 'purchase';

/** The event's items and their sum, as GA4 names them. */
export function basket(store: Storefront, lines: readonly Line[]): Record<string, unknown> {
  const value = lines.reduce((sum, line) => sum + line.product.price * line.quantity, 0);
  return {
    value: Math.round(value * 100) / 100,
    currency: store.currency,
    items: lines.map(({ product, quantity }) => ({
      item_id: product.id,
      item_name: product.name,
      item_category: product.category,
      price: product.price,
      quantity,
    })),
  };
}

/** One to three different products in small numbers. */
export function drawLines(random: Random, store: Storefront): Line[] {
  const chosen = new Set(Array.from({ length: random.whole(1, 3) }, () => random.pick(store.products)));
  return [...chosen].map((product) => ({ product, quantity: random.chance(0.8) ? 1 : 2 }));
}

/** Plays one session and writes its events down, oldest first, each at least a second after the one before. */
export function playSession(visitor: Visitor, plan: SessionPlan): void {
  const store = STOREFRONTS[visitor.siteSlot];
  const session: Session = { visitor, store, device: plan.device, at: plan.startsAt };
  land(session, drawArrival(visitor.random));
  if (plan.identifies !== 'not') tellWho(session, plan.identifies);
  const reach = DEPTHS.indexOf(plan.depth);
  if (reach > 0 && !plan.resumes) browse(session);
  if (reach < DEPTHS.indexOf('cart')) return;
  const lines = drawLines(visitor.random, store);
  if (!plan.resumes) fillCart(session, lines);
  if (reach >= DEPTHS.indexOf('checkout')) checkOut(session, lines, plan.depth === 'purchase');
}

/** Writes down what a browser's tag sends some time after the last event. */
function note(
  session: Session,
  name: string,
  path: string,
  title: string,
  more: Record<string, unknown> = {},
  stitches: string[] = [],
): void {
  const { visitor, device, store } = session;
  session.at += visitor.random.whole(1500, 45_000);
  const url = `${store.origin}${path}`;
  const { fbp, language, distinctId } = device;
  const properties = { $current_url: url, page_location: url, page_title: title, language, fbp, ...more };
  write(visitor, { name, at: session.at, actionSource: 'website', stitches }, properties, distinctId);
}

function land(session: Session, { utm, click, referrer }: Arrival): void {
  const { random } = session.visitor;
  const page = random.pick(session.store.readingPages);
  const clickId = click === null ? {} : { [click]: `demo.${random.whole(100_000, 999_999)}.${click}` };
  const query = new URLSearchParams({ ...utm, ...clickId }).toString();
  const path = query === '' ? page.path : `${page.path}?${query}`;
  note(session, 'page_view', path, page.title, {
    ...utm,
    ...clickId,
    ...(referrer === null ? {} : { page_referrer: referrer }),
  });
}

function browse(session: Session): void {
  const { random } = session.visitor;
  for (let left = random.whole(0, 2); left > 0; left--) {
    const page = random.pick(session.store.readingPages);
    note(session, 'page_view', page.path, page.title);
  }
  if (random.chance(0.3))
    note(session, 'search', '/search', 'Search', { search_term: random.pick(session.store.searches) });
  const listPath = `${session.store.listPath}${random.pick(session.store.products).category}`;
  note(session, 'page_view', listPath, session.store.listName);
  note(session, 'view_item_list', listPath, session.store.listName, { item_list_name: session.store.listName });
  for (let left = random.whole(1, 4); left > 0; left--) {
    const product = random.pick<Product>(session.store.products);
    const path = pathOf(session.store, product);
    note(session, 'page_view', path, product.name);
    note(session, 'view_item', path, product.name, basket(session.store, [{ product, quantity: 1 }]));
  }
}

const pathOf = ({ productPath }: Storefront, { id }: Product): string => `${productPath}${id.toLowerCase()}`;

function fillCart(session: Session, lines: readonly Line[]): void {
  for (const line of lines) {
    note(session, 'add_to_cart', pathOf(session.store, line.product), line.product.name, basket(session.store, [line]));
  }
  note(session, 'page_view', '/cart', 'Cart');
  note(session, 'view_cart', '/cart', 'Cart', basket(session.store, lines));
}

function checkOut(session: Session, lines: readonly Line[], buys: boolean): void {
  const { visitor, store } = session;
  const customer = visitor.customer;
  const goods = basket(store, lines);
  note(session, 'page_view', '/checkout', 'Checkout');
  // Typed into the form, yet begin_checkout is no identify-type event: it is hashed for destinations and stitches nothing.
  const typed = customer === null ? {} : { email: customer.email };
  note(session, 'begin_checkout', '/checkout', 'Checkout', { ...goods, ...typed });
  if (!buys || customer === null) return;
  note(session, 'add_payment_info', '/checkout/payment', 'Payment', { ...goods, payment_type: 'card' });
  const { properties, stitches } = identifiersOf(customer, visitor.random.whole(0, 11));
  const order = { order_id: orderId(visitor), ...goods, ...properties };
  note(session, ORDER_EVENT, '/checkout/thank-you', 'Thank you', order, stitches);
}

function tellWho(session: Session, how: Exclude<SessionPlan['identifies'], 'not'>): void {
  const { visitor } = session;
  if (visitor.customer === null) return;
  const { properties, stitches } = identifiersOf(visitor.customer, visitor.random.whole(0, 11));
  if (how === '$identify') {
    note(session, how, '/account', 'Account', properties, stitches);
    return;
  }
  note(session, 'page_view', '/account', 'Account');
  // A log-in form knows the address only; the phone number came with the sign-up.
  const { email, phone } = properties;
  const known = how === 'login' ? { email } : { email, phone };
  note(session, how, '/account', 'Account', { method: 'email', ...known }, stitches.slice(0, how === 'login' ? 1 : 2));
}

/** Order numbers are unique in the run: the visitor's label and how much they had done make them. */
export function orderId(visitor: Visitor): string {
  const last = visitor.written.at(-1)?.eventId ?? '';
  return `${STOREFRONTS[visitor.siteSlot].orderPrefix}-${last.slice(-8).toUpperCase()}`;
}

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

/** A visitor's distinct id on their `device`-th device. */
export function deviceId(visitor: Visitor, device: number): string {
  return distinctId(visitor.identity, `${visitor.label}/device/${device}`);
}

/** ISO 8601 in UTC, or with one visitor in four as a local time with its offset. */
function writeTimestamp(at: number, style: number): string {
  if (style % 4 !== 3) return new Date(at).toISOString();
  return new Date(at + 7_200_000).toISOString().replace('Z', '+02:00');
}

/** @param anonymousKey The visitor's key in the ledger when no distinct id is sent. */
export function write(
  { identity, siteSlot, label, written }: Visitor,
  { name, at, actionSource, stitches }: Pick<WorldEvent, 'name' | 'at' | 'actionSource' | 'stitches'>,
  properties: Record<string, unknown>,
  distinctId: string | null,
  anonymousKey = label,
): WorldEvent {
  const id = eventId(identity, `${label}/event/${written.length}`);
  const wire: WireEvent = {
    event: name,
    uuid: id,
    ...(distinctId === null ? {} : { distinct_id: distinctId }),
    timestamp: writeTimestamp(at, written.length),
    properties,
  };
  const who = distinctId ?? anonymousKey;
  const event: WorldEvent = { siteSlot, eventId: id, name, at, actionSource, visitor: who, stitches, wire };
  written.push(event);
  return event;
}

/** The identifiers a form, a till or a call centre hands over, spelled as people type them, and what they stitch. */
export function identifiersOf(customer: Customer, style: number) {
  const { externalId, firstName, lastName, city, zip, country } = customer;
  const [email, phone] = [spellEmail(customer.email, style), spellPhone(customer.phone, style)];
  const names = { external_id: externalId, first_name: firstName, last_name: lastName };
  return {
    properties: { email, phone, ...names, city, zip, country },
    stitches: [identityOf.email(customer), identityOf.phone(customer), identityOf.externalId(customer)],
  };
}
