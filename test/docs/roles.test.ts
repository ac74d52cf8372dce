import { expect, test } from 'vitest';
import { PERMISSIONS, ROLE_PERMISSIONS, ROLES } from '#pipelines/settings/access.ts';
import { section, tableRows } from './page.ts';

test('owners and admins have every permission, and the page has each with the other roles that have it', () => {
  const [owner, admin, ...others] = ROLES;
  expect([ROLE_PERMISSIONS[owner], ROLE_PERMISSIONS[admin]]).toEqual([PERMISSIONS, PERMISSIONS]);
  const rows = tableRows(section('dashboard.md', 'Roles')).map((row) => row.split('|').map((cell) => cell.trim()));
  const expected = PERMISSIONS.map((permission) => [
    `\`${permission}\``,
    others.filter((role) => ROLE_PERMISSIONS[role].includes(permission)).join(', '),
  ]);
  expect(rows.map(([permission, _takes, roles]) => [permission, roles])).toEqual(expected);
});
