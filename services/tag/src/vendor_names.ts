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
export const folded = (name: string): string => name.toLowerCase().replace(/[\s_.-]+/g, '');
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
