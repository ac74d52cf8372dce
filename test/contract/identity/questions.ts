import fc from 'fast-check';
import type { IdentityLookup } from '#pipelines/identity/identity.ts';
import { noIdentifiers } from '#pipelines/privacy/hash_identifiers.ts';

export const NO_IDENTIFIERS = noIdentifiers();

/** A question of a person; what it links by and when can be given. */
export function question(siteId: string, person: string, changes: Partial<IdentityLookup> = {}): IdentityLookup {
  return {
    siteId,
    basePersonId: person,
    nodes: [],
    claim: null,
    identifiers: null,
    receivedAtMs: 1_790_000_000_000,
    coordinate: '0:0:0',
    ...changes,
  };
}

/** Questions of events by which few users log in on few browsers, and say their address now and then. */
export function claimLists(siteId: string): fc.Arbitrary<IdentityLookup[]> {
  const person = fc.integer({ min: 0, max: 7 });
  const one = fc.record({ user: person, previous: person, email: fc.option(person), isForced: fc.boolean() });
  return fc.array(one, { minLength: 1, maxLength: 12 }).map((ones) =>
    ones.flatMap(({ user, previous, email, isForced }, index) => {
      const node = `u:${user}`;
      const shared = { receivedAtMs: 1_790_000_000_000 + (index % 3), coordinate: `0:${index}:0` };
      const nodes = [...(email === null ? [] : [`n_${email}`]), node];
      return [
        question(siteId, `p_${user}`, { ...shared, nodes, claim: { node, yields: false } }),
        question(siteId, `p_${previous}`, { ...shared, nodes: [node], claim: { node, yields: !isForced } }),
      ];
    }),
  );
}

/** The same by servers and by browsers. */
export function spokenLists(siteId: string): fc.Arbitrary<IdentityLookup[]> {
  return fc
    .tuple(questionLists(siteId), fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }))
    .map(([questions, arePublic]) => questions.map((one, at) => ({ ...one, isPublic: arePublic[at] === true })));
}

/** Questions of few persons over few nodes, so that many of them meet; each from an event of its own. */
export function questionLists(siteId: string): fc.Arbitrary<IdentityLookup[]> {
  const one = fc.record({
    person: fc.integer({ min: 0, max: 7 }),
    nodes: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { maxLength: 3 }),
    afterMs: fc.integer({ min: 0, max: 3 }),
  });
  return fc.array(one, { minLength: 1, maxLength: 14 }).map((ones) =>
    ones.map(({ person, nodes, afterMs }, index) =>
      question(siteId, `p_${person}`, {
        nodes: nodes.map((node) => `n_${node}`),
        receivedAtMs: 1_790_000_000_000 + afterMs,
        coordinate: `0:${index}:0`,
      }),
    ),
  );
}
