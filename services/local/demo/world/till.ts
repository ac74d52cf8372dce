import type { WorldEvent } from './demo_event.ts';
import { type Customer, drawCustomer, identityOf, spellEmail } from './people.ts';
import { randomFor } from './random.ts';
import { basket, drawLines, ORDER_EVENT, orderId } from './shopping_session.ts';
import { STOREFRONTS } from './storefronts.ts';
import { type Day, deviceId, identifiersOf, type Visitor, write } from './visit.ts';

type OfflineSource = 'physical_store' | 'phone_call' | 'chat' | 'email' | 'system_generated';

/**
 * A sale without a browser to someone who was on the site before. Half of them reuse the browser's distinct id (SPEC 4.6,
 * rule 2) and hand over everything known; the others have the e-mail or, on the phone, the phone number only, so that it
 * joins the web journey only if the customer was identified there.
 */
export function sellOffline(
  visitor: Visitor,
  customer: Customer,
  source: 'physical_store' | 'phone_call',
  at: number,
): WorldEvent {
  const { random } = visitor;
  const reuses = random.chance(0.5);
  const style = random.whole(0, 11);
  const full = identifiersOf(customer, style);
  const byPhone = source === 'phone_call';
  const only = byPhone ? { phone: full.properties['phone'] } : { email: full.properties['email'] };
  const onlyStitch = byPhone ? identityOf.phone(customer) : identityOf.email(customer);
  const who = reuses ? full : { properties: only, stitches: [onlyStitch] };
  return sell(visitor, source, at, reuses ? deviceId(visitor, 0) : null, who);
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
  return write(visitor, {
    name: ORDER_EVENT,
    at,
    actionSource: source,
    distinctId,
    // No browser, no address of their own: the customer is known by what was handed over, one key per sale.
    anonymousKey: `${visitor.label}/offline`,
    properties: { $action_source: source, order_id: orderId(visitor), ...goods, ...who.properties },
    stitches: who.stitches,
  });
}

const WALK_IN_SOURCES = [
  'physical_store',
  'physical_store',
  'phone_call',
  'chat',
  'email',
  'system_generated',
] as const;

/**
 * A sale to someone who was never on the site: they become a person by e-mail alone.
 *
 * @param daysAgo how late it is reported
 */
export function sellToStranger(day: Day, siteSlot: Visitor['siteSlot'], index: number, daysAgo: number): WorldEvent {
  const label = `${siteSlot}/stranger/${index}`;
  const random = randomFor(`${day.identity.seed}/${label}`);
  // Odd and even numbers below a million belong to the web visitors of the two sites.
  const customer = drawCustomer(day.identity, random, 1_000_000 + index * 2 + (siteSlot === 'shop' ? 0 : 1));
  const visitor: Visitor = { identity: day.identity, siteSlot, label, random, customer, written: [] };
  const source = daysAgo > 7 ? 'physical_store' : random.pick(WALK_IN_SOURCES);
  const at = day.endsAt - daysAgo * 86_400_000 - random.whole(60_000, 36_000_000);
  return sell(visitor, source, at, null, {
    properties: { email: spellEmail(customer.email, random.whole(0, 2)) },
    stitches: [identityOf.email(customer)],
  });
}
