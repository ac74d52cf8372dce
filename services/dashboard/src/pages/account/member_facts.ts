import type { UserItem } from '#services/control_api/user_shapes.ts';
import { type Facts, factText } from '../../editing/differences.ts';
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
