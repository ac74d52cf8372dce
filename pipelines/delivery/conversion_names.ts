/**
 * The canonical conversion names (GA4's) and the names other vocabularies use for the same act: Segment's e-commerce
 * specification, the browser pixels' standard events and PostHog's page view.
 */
export const ALIASES = {
  page_view: ['page', 'PageView', 'Pageview', '$pageview', 'page viewed', 'PageVisit'],
  view_item: ['Product Viewed', 'ViewContent'],
  view_item_list: ['Product List Viewed', 'ListView'],
  search: ['view_search_results', 'Products Searched', 'Search'],
  add_to_cart: ['Product Added', 'AddToCart', 'AddCart'],
  add_to_wishlist: ['Product Added to Wishlist', 'AddToWishlist'],
  begin_checkout: ['Checkout Started', 'InitiateCheckout', 'StartCheckout'],
  add_payment_info: ['Payment Info Entered', 'AddPaymentInfo', 'AddBilling'],
  purchase: ['Order Completed', 'Purchase', 'CompletePayment', 'PlaceAnOrder'],
  refund: ['Order Refunded'],
  generate_lead: ['Lead Generated', 'Lead', 'SubmitForm'],
  sign_up: ['Signed Up', 'SignUp', 'CompleteRegistration'],
  subscribe: ['Subscribe'],
  start_trial: ['Trial Started', 'StartTrial'],
  contact: ['Contact'],
  schedule: ['Schedule'],
  find_location: ['FindLocation'],
  customize_product: ['CustomizeProduct'],
  download: ['Download'],
  donate: ['Donate'],
  submit_application: ['SubmitApplication'],
} as const;

export type CanonicalName = keyof typeof ALIASES;
export const CANONICAL_NAMES = Object.keys(ALIASES) as CanonicalName[];

/** The act an event stands for: its canonical name where it has one, and the name it was given. */
export interface ConversionName {
  canonical: CanonicalName | null;
  given: string;
}

/** A name as it is compared: case and separators do not matter. */
export const folded = (name: string): string => name.toLowerCase().replace(/[\s_.-]+/g, '');

const CANONICAL_BY_FOLDED: ReadonlyMap<string, CanonicalName> = new Map(
  CANONICAL_NAMES.flatMap((canonical) =>
    [canonical, ...ALIASES[canonical]].map((alias): [string, CanonicalName] => [folded(alias), canonical]),
  ),
);

/** Reads a name in any of the known vocabularies; case and separators do not matter. */
export function conversionName(given: string): ConversionName {
  return { canonical: CANONICAL_BY_FOLDED.get(folded(given)) ?? null, given };
}

/** A platform's own name for the act; its table leaves out what it has no standard event for, which goes as given. */
export function platformName(name: ConversionName, table: Partial<Record<CanonicalName, string>>): string {
  return (name.canonical === null ? undefined : table[name.canonical]) ?? name.given;
}
