import type { IdentityLink } from '#schemas/identity_link.ts';

/** How one person becomes two. */
export interface SplitPlan {
  /** Those who stay, and those who are moved. */
  groups: [stay: string[], moved: string[]];
  /** Which persons never follow which keyed identifiers again. */
  cuts: [person: string, node: string][];
  /** Of each identifier that both sides had, one who has it from now on. */
  holders: [node: string, person: string][];
}

/**
 * Plans a split by the edges that joined a person. A keyed identifier that both sides have stays, unless it is taken: the side that loses it
 * is cut from it. What only one side has is that side's anyway.
 *
 * @param edges Those of identity.links, whatever was decided of them.
 * @param taken Keyed identifiers that go with those who are moved.
 */
export function splitPlan(
  persons: readonly string[],
  isMoved: (person: string) => boolean,
  edges: readonly IdentityLink[],
  taken: ReadonlySet<string> = new Set(),
): SplitPlan {
  const members = new Set(persons);
  const joined = edges.filter(
    ({ kind, decision, person_id }) => kind === 'edge' && decision !== 'capped' && members.has(person_id),
  );
  const plan: SplitPlan = {
    groups: [persons.filter((person) => !isMoved(person)), persons.filter(isMoved)],
    cuts: [],
    holders: [],
  };
  for (const [node, ones] of Map.groupBy(joined, ({ target }) => target)) {
    const having = [...new Set(ones.map(({ person_id }) => person_id))];
    const isOfMoved = taken.has(node);
    const [first] = having.filter((person) => isMoved(person) === isOfMoved);
    const losing = having.filter((person) => isMoved(person) !== isOfMoved);
    if (first === undefined || losing.length === 0) continue;
    plan.holders.push([node, first]);
    plan.cuts.push(...losing.map((person): [string, string] => [person, node]));
  }
  return plan;
}
