import { ROLES } from '#pipelines/settings/access.ts';
import type { UserItem } from '#services/control_api/users.ts';
import { type Facts, factText } from '../../editing/differences.ts';
import { number } from '../../format.ts';
import { grantText } from './grant_form.ts';

/** What is so of a user, as people read it: roles one on a line. */
export function memberText(value: unknown, name: string): string {
  if (name !== 'roles' || !Array.isArray(value)) return factText(value);
  return factText((value as UserItem['grants']).map(grantText));
}

/** What somebody looks at before they decide how a user signs in. */
export const signInFacts = ({
  name,
  grants,
  disabled_at,
  has_password,
  second_factor,
  provider_links,
}: UserItem): Facts => ({
  ...{ name, roles: grants, disabled: disabled_at !== null, has_password, second_factor, provider_links },
});

/** How many have each role, the greatest first; who has two is counted for both, and who is disabled for none. */
export function roleCounts(members: readonly Pick<UserItem, 'grants' | 'disabled_at'>[]): string {
  const active = members.filter(({ disabled_at }) => disabled_at === null);
  const ofRoles = ROLES.map((role) => counted(active.filter(({ grants }) => has(grants, role)).length, role));
  return [...ofRoles, counted(members.length - active.length, 'disabled', '')].filter((text) => text !== '').join(', ');
}

const has = (grants: UserItem['grants'], wanted: string): boolean => grants.some(({ role }) => role === wanted);

const counted = (count: number, what: string, plural = 's'): string =>
  count === 0 ? '' : `${number(count)} ${what}${count === 1 ? '' : plural}`;
