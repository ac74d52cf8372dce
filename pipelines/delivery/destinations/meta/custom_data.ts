import { currencyCode } from '#pipelines/delivery/currency.ts';
import { type Item, itemsOf } from '#pipelines/delivery/items.ts';
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

function contentIds(properties: Properties, items: readonly Item[]): string[] {
  const given = properties['content_ids'];
  if (!Array.isArray(given)) return items.map((item) => item.id);
  return given.flatMap((id) => (typeof id === 'string' || typeof id === 'number' ? [String(id)] : []));
}

function itemKeys(properties: Properties): Record<string, unknown> {
  const items = itemsOf(properties);
  const category = firstText(properties, ['delivery_category']);
  const deliveryCategory = category !== null && DELIVERY_CATEGORIES.has(category) ? category : null;
  const ids = contentIds(properties, items);
  const counted = items.length === 0 ? null : items.reduce((sum, item) => sum + (item.quantity ?? 1), 0);
  return {
    contents: listOrNull(items.map((item) => content(item, deliveryCategory))),
    content_ids: listOrNull(ids),
    content_type: firstText(properties, ['content_type']) ?? (ids.length > 0 ? 'product' : null),
    num_items: firstNumber(properties, ['num_items']) ?? counted,
    delivery_category: deliveryCategory,
  };
}

/**
 * The custom_data of an event: what was bought, for how much. Only parameters that Meta documents are sent, so that
 * nothing else of the event's properties leaves the service.
 */
export function customData(event: Event, properties: Properties): Record<string, unknown> {
  return present({
    value: event.value,
    currency: currencyCode(event.currency),
    order_id: event.order_id,
    ...itemKeys(properties),
    content_name: firstText(properties, ['content_name']),
    content_category: firstText(properties, ['content_category']),
    search_string: firstText(properties, ['search_string', 'search_term', 'query']),
    predicted_ltv: firstNumber(properties, ['predicted_ltv']),
    net_revenue: firstNumber(properties, ['net_revenue']),
    status: firstText(properties, ['status']),
  });
}
