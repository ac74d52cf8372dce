import { expect, test } from 'vitest';
import { PERMISSIONS, ROLE_PERMISSIONS, ROLES } from '#pipelines/settings/access.ts';
import { section, tableRows } from './page.ts';

test('the page has every permission, with the roles that have it', () => {
  const rows = tableRows(section('dashboard.md', 'Roles')).map((row) => row.split('|').map((cell) => cell.trim()));
  const expected = PERMISSIONS.map((permission) => [
    `\`${permission}\``,
    ...ROLES.map((role) => (ROLE_PERMISSIONS[role].includes(permission) ? 'yes' : '')),
  ]);
  expect(rows.map(([permission, _takes, ...roles]) => [permission, ...roles])).toEqual(expected);
});
