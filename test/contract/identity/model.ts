import type { IdentityLookup } from '#pipelines/identity/identity.ts';
import type { IdentityLink } from '#schemas/records.ts';

/**
 * Who belongs together after all questions, found by walking from person to person over shared nodes: each person that
 * linked, with the leading person of its group (oldest first seen, then smallest id).
 */
export function expectedLeaders(questions: readonly IdentityLookup[]): Map<string, string> {
  const linking = questions.filter(({ nodes }) => nodes.length > 0);
  const firstSeen = new Map<string, number>();
  for (const { basePersonId, receivedAtMs } of linking) {
    firstSeen.set(basePersonId, Math.min(receivedAtMs, firstSeen.get(basePersonId) ?? Number.POSITIVE_INFINITY));
  }
  const leaders = new Map<string, string>();
  for (const person of firstSeen.keys()) {
    if (leaders.has(person)) continue;
    const group = groupOf(person, linking);
    const [leader] = [...group].sort((a, b) => (firstSeen.get(a) ?? 0) - (firstSeen.get(b) ?? 0) || (a < b ? -1 : 1));
    for (const member of group) leaders.set(member, leader ?? member);
  }
  return leaders;
}

function groupOf(person: string, questions: readonly IdentityLookup[]): Set<string> {
  const group = new Set([person]);
  const nodes = new Set<string>();
  for (let size = 0; size !== group.size + nodes.size; ) {
    size = group.size + nodes.size;
    for (const question of questions) {
      if (!group.has(question.basePersonId) && !question.nodes.some((node) => nodes.has(node))) continue;
      group.add(question.basePersonId);
      for (const node of question.nodes) nodes.add(node);
    }
  }
  return group;
}

/** The newest link of each person, as ClickHouse reads them. */
export function leadersOf(links: readonly IdentityLink[]): Map<string, string> {
  const newest = new Map<string, IdentityLink>();
  for (const link of links) {
    if (link.kind !== 'person') continue;
    const known = newest.get(link.person_id);
    if (known === undefined || link.version > known.version) newest.set(link.person_id, link);
  }
  return new Map([...newest].map(([person, { target }]) => [person, target]));
}
