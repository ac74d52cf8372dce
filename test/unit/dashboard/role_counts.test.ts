import { expect, test } from 'vitest';
import { grantAt, roleCounts } from '#services/dashboard/src/pages/members/grants.ts';

const member = (places: readonly [role: string, place: string][], disabled_at: number | null = null) => ({
  grants: places.map(([role, place]) => grantAt(role, place)),
  disabled_at,
});

test('a member counts once for each of their roles, and for none when disabled', () => {
  const members = [
    member([
      ['viewer', 'site/shop'],
      ['viewer', 'site/blog'],
    ]),
    member([
      ['owner', ''],
      ['viewer', 'site/shop'],
    ]),
    member([['analyst', 'account/acme']], 1),
  ];
  expect(roleCounts(members)).toBe('1 owner, 2 viewers, 1 disabled');
  expect(roleCounts([])).toBe('');
});
