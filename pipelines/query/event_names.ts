import type { Filter, Selection } from './shapes.ts';

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
  const parts = Object.entries(query as object).map(([name, part]) => [name, partWithNames(name, part)] as const);
  return Object.fromEntries(parts) as Query;
}

function partWithNames(name: string, part: unknown): unknown {
  switch (name) {
    case 'events':
      return everyName(part as string[]);
    case 'filters':
      return (part as Filter[]).map(filterWithNames);
    case 'start':
    case 'back':
      return withEveryName(part as Selection);
    case 'steps':
    case 'exclusions':
    case 'series':
      return (part as Selection[]).map((selection) => withEveryName(selection));
    default:
      return part;
  }
}

/** A filter on the column compares with the name that queries show. */
function filterWithNames(filter: Filter): Filter {
  const isOfName = 'column' in filter.field && filter.field.column === 'event';
  if (!isOfName || (filter.is !== 'equal' && filter.is !== 'not_equal')) return filter;
  return { ...filter, to: filter.to.map((value) => ourName(value)) };
}
