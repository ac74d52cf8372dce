import type { InventoryRecord } from '#schemas/inventory.ts';

/** A row of the table `inventory` for each element of a submission. */
export function inventoryRows({ elements, ...submission }: InventoryRecord): Record<string, unknown>[] {
  return elements.map(({ type, selector, text, href, event_hint }, position) => ({
    ...submission,
    position,
    type,
    selector,
    text,
    href: href ?? '',
    event_hint: event_hint ?? '',
  }));
}
