/** What this browser remembers of an item: how often it was shown, when last, and when it was answered last. */
interface Seen {
  n: number;
  last: number;
  done?: number;
}
/** By kind and id, as `survey:nps`. */
export type SeenItems = Readonly<Record<string, Seen>>;

/** POST /v1/engage takes no more. */
const ITEMS_MAX = 150;

function withItem(seen: SeenItems, name: string, item: Seen): SeenItems {
  const all = Object.entries({ ...seen, [name]: item });
  return Object.fromEntries(all.sort(([, one], [, other]) => other.last - one.last).slice(0, ITEMS_MAX));
}

/** With one more time that an item was shown; those shown longest ago are forgotten. */
export const withShown = (seen: SeenItems, name: string, nowMs: number): SeenItems =>
  withItem(seen, name, { ...seen[name], n: (seen[name]?.n ?? 0) + 1, last: nowMs });

/** With an item answered, clicked or submitted. */
export const withDone = (seen: SeenItems, name: string, nowMs: number): SeenItems =>
  withItem(seen, name, { n: 1, last: nowMs, ...seen[name], done: nowMs });
