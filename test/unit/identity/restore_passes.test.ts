import { expect, test } from 'vitest';
import { isUndecided, RESTORE_PASSES } from '#pipelines/identity/identity.ts';
import type { IdentityLink } from '#schemas/records.ts';

const BASE = { site_id: 'shop', person_id: 'p_1', target: 't', first_seen: 1, version: 0 };
const LINKS: [link: IdentityLink, pass: number][] = [
  [{ ...BASE, kind: 'cut' }, 0],
  [{ ...BASE, kind: 'split' }, 0],
  [{ ...BASE, kind: 'person' }, 1],
  [{ ...BASE, kind: 'person', decision: 'unknown' }, 1],
  [{ ...BASE, kind: 'edge', decision: 'joined' }, 2],
  [{ ...BASE, kind: 'edge', decision: 'capped' }, 2],
  [{ ...BASE, kind: 'edge', decision: 'unknown' }, 3],
  [{ ...BASE, kind: 'edge' }, 3],
];

test('every link is taught in one pass: persons, then edges that say what was decided, then those that do not', () => {
  const passes = LINKS.map(([link]) => RESTORE_PASSES.flatMap((isOfPass, pass) => (isOfPass(link) ? [pass] : [])));
  expect(passes).toEqual(LINKS.map(([, pass]) => [pass]));
});

test('an edge is undecided where nobody wrote down whether it was followed; who belongs to whom is decided', () => {
  expect(LINKS.map(([link]) => isUndecided(link))).toEqual(LINKS.map(([, pass]) => pass === 3));
});
