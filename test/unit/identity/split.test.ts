import { expect, test } from 'vitest';
import { type SplitPlan, splitPlan } from '#pipelines/identity/identity.ts';
import type { IdentityLink } from '#schemas/records.ts';

const edge = (person_id: string, target: string, decision: IdentityLink['decision'] = 'joined'): IdentityLink => ({
  ...{ site_id: 'shop', kind: 'edge', person_id, target, first_seen: 1, version: 0, decision },
});
const EDGES = [edge('a', 'shared'), edge('b', 'shared'), edge('a', 'own'), edge('b', 'theirs'), edge('c', 'shared')];

const CASES: [what: string, edges: IdentityLink[], taken: string[], expected: Omit<SplitPlan, 'groups'>][] = [
  ['what both have stays', EDGES, [], { cuts: [['b', 'shared']], holders: [['shared', 'a']] }],
  [
    'what is taken goes, and all who stay lose it',
    EDGES,
    ['shared'],
    {
      cuts: [
        ['a', 'shared'],
        ['c', 'shared'],
      ],
      holders: [['shared', 'b']],
    },
  ],
  ['what one side has is not cut', [edge('a', 'own'), edge('b', 'theirs')], [], { cuts: [], holders: [] }],
  ['what was refused is no evidence', [edge('a', 'n'), edge('b', 'n', 'capped')], [], { cuts: [], holders: [] }],
  ['nor is what others have', [edge('a', 'n'), edge('x', 'n')], [], { cuts: [], holders: [] }],
  [
    'an edge of a version that did not say what was decided counts',
    [edge('a', 'n', 'unknown'), edge('b', 'n', 'unknown')],
    [],
    { cuts: [['b', 'n']], holders: [['n', 'a']] },
  ],
];

test.for(CASES)('%s', ([, edges, taken, expected]) => {
  const plan = splitPlan(['a', 'b', 'c'], (person) => person === 'b', edges, new Set(taken));
  expect(plan).toEqual({ groups: [['a', 'c'], ['b']], ...expected });
});
