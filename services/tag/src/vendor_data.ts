import type { Properties } from './types.ts';

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
