import type { SentEvent } from '#test/harness/ingest.ts';

/** Sets of distinct ids that are one person each, as a union-find over the events' own words says. */
export function peopleOf(events: Iterable<SentEvent>): string[][] {
  const parents = new Map<string, string>();
  const rootOf = (name: string): string => {
    let root = name;
    for (let parent = parents.get(root) ?? root; parent !== root; parent = parents.get(root) ?? root) root = parent;
    parents.set(name, root);
    return root;
  };
  const ids = new Set<string>();
  for (const { event, distinct_id, properties = {} } of events) {
    ids.add(distinct_id);
    if (!JOINING.has(event)) continue;
    for (const kind of ['email', 'external_id']) {
      const value = properties[kind];
      if (typeof value === 'string') parents.set(rootOf(`id ${distinct_id}`), rootOf(`${kind} ${value}`));
    }
  }
  return canonical(Map.groupBy(ids, (id) => rootOf(`id ${id}`)).values());
}

/** Events of the load by which a visitor says who they are. */
const JOINING = new Set(['login', 'purchase']);

/** Sorted within and without, so that equal partitions of a set are equal values. */
export function canonical(groups: Iterable<readonly string[]>): string[][] {
  return [...groups].map((group) => [...group].sort()).sort(([one = ''], [other = '']) => (one < other ? -1 : 1));
}
