import type { WorldEvent } from './demo_event.ts';

/**
 * Who is who, by union-find over visitors and the identities their events stitch: two visitors are one person when a chain
 * of shared identities joins them.
 *
 * @returns the person's key for a visitor's key; the same key for the same person, otherwise meaningless
 */
export function resolvePeople(events: Iterable<WorldEvent>): (visitor: string) => string {
  const parents = new Map<string, string>();
  const rootOf = (node: string): string => {
    let root = node;
    for (let parent = parents.get(root); parent !== undefined; parent = parents.get(root)) root = parent;
    if (root !== node) parents.set(node, root);
    return root;
  };
  for (const event of events) {
    for (const identity of event.stitches) {
      const visitor = rootOf(`visitor:${event.visitor}`);
      const other = rootOf(identity);
      if (visitor !== other) parents.set(visitor, other);
    }
  }
  return (visitor) => rootOf(`visitor:${visitor}`);
}
