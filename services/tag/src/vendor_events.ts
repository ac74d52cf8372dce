import { matchesAddress, type PageAddress } from '#pipelines/settings/url_pattern.ts';
import type { EventDefinition, Properties, SiteConfig } from './types.ts';

/**
 * A row for each act: its canonical name (GA4's); after colons Meta's and TikTok's standard event where that is not the
 * same words run together, a dash where there is none; then other vocabularies' names for it, folded.
 */
const ROWS = `page_view:PageView:Pageview page $pageview pageviewed pagevisit
view_item:ViewContent productviewed
view_item_list:ViewContent productlistviewed listview
search viewsearchresults productssearched
add_to_cart productadded addcart
add_to_wishlist productaddedtowishlist
begin_checkout:InitiateCheckout checkoutstarted startcheckout
add_payment_info paymentinfoentered addbilling
purchase ordercompleted completepayment placeanorder
refund:- orderrefunded
generate_lead:Lead leadgenerated submitform
sign_up:CompleteRegistration signedup
subscribe
start_trial trialstarted
contact
schedule
find_location
customize_product
download:-:Download
donate:Donate:-
submit_application`.split('\n');

/** What the platforms call an act; each is undefined where they have no name of their own for it. */
export interface VendorNames {
  ga4?: string | undefined;
  meta?: string | undefined;
  tiktok?: string | undefined;
}

/** A name as it is compared: case and separators do not matter. */
const folded = (name: string): string => name.toLowerCase().replace(/[\s_.-]+/g, '');
const runTogether = (name: string): string => name.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
const unlessDash = (name: string): string | undefined => (name === '-' ? undefined : name);

/** Reads an event's name in any of the vocabularies, as the service does for its own deliveries. */
export function vendorNames(given: string): VendorNames {
  const wanted = folded(given);
  for (const row of ROWS) {
    const [names = '', ...aliases] = row.split(' ');
    const [ga4 = '', meta = runTogether(ga4), tiktok = meta] = names.split(':');
    if (wanted && [ga4, meta, tiktok, ...aliases].some((name) => folded(name) === wanted)) {
      return { ga4, meta: unlessDash(meta), tiktok: unlessDash(tiktok) };
    }
  }
  return {};
}

const GA4_PARAMETERS = 'value currency items coupon shipping tax method search_term promotion_id promotion_name';
const PIXEL_PARAMETERS =
  'value currency order_id content_ids content_type content_name content_category num_items search_string';
const ITEM_IDS = ['item_id', 'id', 'content_id', 'product_id', 'sku'];

const present = (entries: [string, unknown][]): Properties =>
  Object.fromEntries(entries.filter(([, value]) => value != null));
const picked = (properties: Properties, names: string): Properties =>
  present(names.split(' ').map((name) => [name, properties[name]]));

/** What GA4 is told of an event: of commerce only, so that nothing of a person goes along. */
export const ga4Parameters = (properties: Properties, eventId: string): Properties => ({
  ...picked({ search_term: properties['search_string'], ...properties }, GA4_PARAMETERS),
  ...present([['transaction_id', properties['transaction_id'] ?? properties['order_id']]]),
  event_id: eventId,
});

/** What Meta and TikTok are told of an event: of commerce only; what was bought by GA4's, Segment's or their own names. */
export function pixelParameters(properties: Properties, idName: string, priceName: string): Properties {
  const items = properties['items'] ?? properties['contents'] ?? properties['products'];
  const contents = (Array.isArray(items) ? items : []).map((item: Properties) => ({
    [idName]: ITEM_IDS.map((name) => item[name]).find(Boolean),
    quantity: item['quantity'] ?? 1,
    [priceName]: item['price'] ?? item['item_price'],
  }));
  const bought = contents.length
    ? { contents, content_ids: contents.map((one) => one[idName]), content_type: 'product' }
    : {};
  return { ...bought, ...picked({ search_string: properties['search_term'], ...properties }, PIXEL_PARAMETERS) };
}

/** The pixel of the first pattern that the page matches, else the site's own; as the service chooses it. */
export const pixelOf = ({ pixel_id, route_pixels }: NonNullable<SiteConfig['facebook']>, page: PageAddress): string =>
  route_pixels.find((route) => matchesAddress(route.url_pattern, page))?.pixel_id ?? pixel_id;

/** What definitions say of an event's name. */
interface NameRule {
  /** The conversion that it stands for, else the name itself. */
  name: string;
  isSent(destination: string): boolean;
}

/** The platform's name that the site chose for an event, of whose names the most particular goes first; as in the service. */
export const mappedEventName = (
  chosen: Record<string, string> = {},
  names: readonly (string | undefined)[],
): string | undefined =>
  // An event may be called as what every object has: `constructor` is no text.
  names.map((name) => chosen[folded(name ?? '')]).find((one) => typeof one === 'string');

/** As in the service, a destination that is absent is sent to, and of several definitions one that sends is enough. */
export function nameRule(events: readonly EventDefinition[], name: string): NameRule {
  const same = events.filter((one) => one.enabled && one.name.trim() === name);
  return {
    name: same.map((one) => one.conversion_event.trim()).find(Boolean) ?? name,
    isSent: (destination) => !same[0] || same.some((one) => one.destinations[destination] !== false),
  };
}
