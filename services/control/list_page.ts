import { PAGE_ITEMS } from '#services/control_api/fields.ts';

interface PageQuery {
  limit?: number;
  after?: string;
}

/** One page of a list. `textOf` is unique, and the list is sorted by it. */
export function page<Item, View>(
  items: readonly Item[],
  query: PageQuery,
  textOf: (item: Item) => string,
  viewOf: (item: Item) => View,
): { items: View[]; next: string | null } {
  const { after, limit = PAGE_ITEMS } = query;
  const rest = after === undefined ? items : items.filter((item) => textOf(item) > after);
  const taken = rest.slice(0, limit);
  const last = taken.at(-1);
  const next = last !== undefined && rest.length > taken.length ? textOf(last) : null;
  return { items: taken.map(viewOf), next };
}
