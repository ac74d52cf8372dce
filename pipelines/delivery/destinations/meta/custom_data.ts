import { commerceOf } from '#pipelines/delivery/commerce.ts';
import type { Item } from '#pipelines/delivery/items.ts';
import { listOrNull, present } from '#pipelines/delivery/present.ts';
import { firstNumber, firstText, type Properties } from '#pipelines/delivery/properties.ts';
import type { Event } from '#schemas/event.ts';

const DELIVERY_CATEGORIES = new Set(['home_delivery', 'in_store', 'curbside']);

const content = (item: Item, deliveryCategory: string | null): object =>
  present({
    id: item.id,
    quantity: item.quantity ?? 1,
    item_price: item.price,
    delivery_category: deliveryCategory,
  });

/**
 * The custom_data of an event: what was bought, for how much. Only parameters that Meta documents are sent, so that
 * nothing else of the event's properties leaves the service.
 */
export function customData(event: Event, properties: Properties): Record<string, unknown> {
  const commerce = commerceOf(event, properties);
  const category = firstText(properties, ['delivery_category']);
  const deliveryCategory = category !== null && DELIVERY_CATEGORIES.has(category) ? category : null;
  return present({
    value: commerce.value,
    currency: commerce.currency,
    order_id: commerce.orderId,
    contents: listOrNull(commerce.items.map((item) => content(item, deliveryCategory))),
    content_ids: listOrNull(commerce.contentIds),
    content_type: commerce.contentType,
    num_items: commerce.itemCount,
    delivery_category: deliveryCategory,
    content_name: commerce.contentName,
    content_category: commerce.contentCategory,
    search_string: commerce.searchTerm,
    predicted_ltv: firstNumber(properties, ['predicted_ltv']),
    net_revenue: firstNumber(properties, ['net_revenue']),
    status: firstText(properties, ['status']),
  });
}
