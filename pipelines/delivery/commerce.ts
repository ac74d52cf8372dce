import type { Event } from '#schemas/event.ts';
import { currencyCode } from './currency.ts';
import { type Item, itemsOf } from './items.ts';
import { firstNumber, firstText, type Properties } from './properties.ts';

/** What was bought, seen or looked for, as the advertising platforms ask for it alike. */
export interface Commerce {
  value: number | null;
  currency: string | null;
  orderId: string | null;
  items: readonly Item[];
  contentIds: readonly string[];
  contentType: string | null;
  contentName: string | null;
  contentCategory: string | null;
  /** Pieces, not kinds. */
  itemCount: number | null;
  searchTerm: string | null;
}

function contentIds(properties: Properties, items: readonly Item[]): string[] {
  const given = properties['content_ids'];
  if (!Array.isArray(given)) return items.map((item) => item.id);
  return given.flatMap((id) => (typeof id === 'string' || typeof id === 'number' ? [String(id)] : []));
}

/** Reads an event in GA4's, Segment's or a pixel's own vocabulary. */
export function commerceOf(event: Event, properties: Properties): Commerce {
  const items = itemsOf(properties);
  const ids = contentIds(properties, items);
  const counted = items.length === 0 ? null : items.reduce((sum, item) => sum + (item.quantity ?? 1), 0);
  return {
    value: event.value,
    currency: currencyCode(event.currency),
    orderId: event.order_id,
    items,
    contentIds: ids,
    contentType: firstText(properties, ['content_type']) ?? (ids.length > 0 ? 'product' : null),
    contentName: firstText(properties, ['content_name']),
    contentCategory: firstText(properties, ['content_category']),
    itemCount: firstNumber(properties, ['num_items']) ?? counted,
    searchTerm: firstText(properties, ['search_string', 'search_term', 'query']),
  };
}
