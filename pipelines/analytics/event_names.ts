// Names under which senders report the same event.
import type { Condition } from './filters.ts';
import { changedQuery } from './query_rewrites.ts';

/**
 * Names under which different senders report the same thing: ours first (GA4's), then those of PostHog's libraries and of
 * Segment's specification. The names of ad platforms' pixels are not among them: they run beside another tag, and a page
 * view reported by both would count twice.
 */
export const SAME_EVENTS: readonly (readonly [ours: string, ...others: string[]])[] = [
  ['page_view', '$pageview', 'page', 'Page Viewed'],
  ['screen_view', '$screen', 'screen', 'Screen Viewed'],
  ['view_item', 'Product Viewed'],
  ['view_item_list', 'Product List Viewed'],
  ['select_item', 'Product Clicked'],
  ['search', 'Products Searched'],
  ['add_to_cart', 'Product Added'],
  ['remove_from_cart', 'Product Removed'],
  ['view_cart', 'Cart Viewed'],
  ['add_to_wishlist', 'Product Added to Wishlist'],
  ['begin_checkout', 'Checkout Started'],
  ['add_payment_info', 'Payment Info Entered'],
  ['purchase', 'Order Completed'],
  ['refund', 'Order Refunded'],
  ['order_cancelled', 'Order Cancelled', 'order_canceled', 'Order Canceled'],
  [
    'subscription_renewed',
    ...['Subscription Renewed', 'subscription_renewal', 'Subscription Renewal'],
    // Of apps, by GA4 and RevenueCat.
    ...['app_store_subscription_renew', 'rc_renewal_event'],
  ],
  ['generate_lead', 'Lead Generated'],
  ['sign_up', 'Signed Up'],
  ['subscribe', 'Subscribed'],
  ['start_trial', 'Trial Started'],
];

/** Our name of every other one. */
export const OUR_NAMES: ReadonlyMap<string, string> = new Map(
  SAME_EVENTS.flatMap(([ours, ...others]) => others.map((name) => [name, ours] as const)),
);
const ALL = new Map(SAME_EVENTS.map((names) => [names[0], names] as const));

function ourName<Value>(name: Value): Value | string {
  return typeof name === 'string' ? (OUR_NAMES.get(name) ?? name) : name;
}

function everyName(names: readonly string[]): string[] {
  return [...new Set(names.flatMap((name) => ALL.get(ourName(name)) ?? [name]))];
}

/** A query in which an event's name stands for all names of the same thing, wherever the query names events. */
export function withEveryName<Query>(query: Query): Query {
  return changedQuery(query, { events: everyName, condition: conditionWithNames });
}

/** A condition on the column compares with the name that queries show. */
function conditionWithNames(condition: Condition): Condition {
  const field = 'person' in condition.field ? condition.field.person : condition.field;
  const isOfName = 'column' in field && field.column === 'event';
  if (!isOfName || (condition.is !== 'equal' && condition.is !== 'not_equal')) return condition;
  return { ...condition, to: condition.to.map((value) => ourName(value)) };
}
