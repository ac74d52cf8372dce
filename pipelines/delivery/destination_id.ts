// The ids of a site's destinations. An id says its kind by itself, so that wherever one stands (outcomes, dead letters, replays,
// definitions) nobody has to look it up, also after the destination was removed.

/** Destinations of one kind that a site may have, and rules that one may have. */
export const DESTINATIONS_OF_A_KIND_MAX = 10;
export const RULES_MAX = 50;

/**
 * The kind of a destination, which names its adapter, topics and process: `meta` of the first, whose id is the kind itself, as of
 * others, such as `meta-eu`. Names of adapters hold no `-`.
 */
export function kindOfDestination(id: string): string {
  const end = id.indexOf('-');
  return end < 0 ? id : id.slice(0, end);
}

/** Whether a destination is the one that is called as its kind is, which alone has a part in the browser. */
export const isFirstOfKind = (id: string): boolean => !id.includes('-');

/** By which the processes of a kind tell its destinations at sites apart: the site alone for the first. */
export const targetKey = (siteId: string, id: string): string => (isFirstOfKind(id) ? siteId : `${siteId}/${id}`);
