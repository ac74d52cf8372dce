import { firstNumber, firstText, isRecord, type Properties } from './properties.ts';

/** One bought or seen thing, in GA4's terms. */
export interface Item {
  id: string;
  name: string | null;
  brand: string | null;
  category: string | null;
  price: number | null;
  quantity: number | null;
  /** All that was said of it, under the names of whoever said it. */
  given: Properties;
}

const LIST_NAMES = ['items', 'contents', 'products'];
/** GA4 caps items at 200; nothing more is of use to a platform. */
const ITEMS_MAX = 200;

function readItem(value: unknown): Item[] {
  if (!isRecord(value)) return [];
  const id = firstText(value, ['item_id', 'id', 'content_id', 'product_id', 'sku']);
  if (id === null) return [];
  return [
    {
      id,
      name: firstText(value, ['item_name', 'name', 'content_name', 'title']),
      brand: firstText(value, ['item_brand', 'brand']),
      category: firstText(value, ['item_category', 'category', 'content_category']),
      price: firstNumber(value, ['price', 'item_price']),
      quantity: firstNumber(value, ['quantity']),
      given: value,
    },
  ];
}

/** Items in GA4's `items`, Meta's and TikTok's `contents` or Segment's `products`; those without an id are left out. */
export function itemsOf(properties: Properties): Item[] {
  for (const name of LIST_NAMES) {
    const list = properties[name];
    if (Array.isArray(list) && list.length > 0) return list.slice(0, ITEMS_MAX).flatMap(readItem);
  }
  return [];
}
