import type { ShownItem } from '#services/engage_panels/shown_item.ts';

/**
 * Whether an item may appear now. Above the page is one at a time, and one on a page, unless the visitor asks for it by a
 * click.
 */
export function mayAppear(
  { place, show }: Pick<ShownItem, 'place' | 'show'>,
  above: { isOpen: boolean; wasOpen: boolean },
): boolean {
  return place === 'inline' || (!above.isOpen && (show.on === 'click' || !above.wasOpen));
}
