import type { Permission } from '#pipelines/settings/access.ts';
import type { AccountItem } from '#services/control_api/sites.ts';
import type { Who } from '#services/control_api/users.ts';

/** What the form for a new site holds. */
export interface SiteDraft {
  name: string;
  /** Null: it follows the name. */
  siteId: string | null;
  /** Empty: an account of the site's own is made. */
  accountId: string;
  /** Events a month, of an account that is made. */
  allowance: string;
}

const ID_CHARACTERS_MAX = 64;
export const ALLOWANCE_USUAL = '1000000';

/** The id that a name suggests: what of it an id may hold. */
export function idOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return plain
    .replace(/[^a-z0-9_]+/g, '-')
    .slice(0, ID_CHARACTERS_MAX)
    .replace(/^-+|-+$/g, '');
}

export const siteIdOf = ({ name, siteId }: SiteDraft): string => (siteId ?? idOf(name)).trim();

/** The accounts in which somebody may do something. */
export function accountsWith(
  permission: Permission,
  accounts: readonly AccountItem[],
  grants: Who['grants'],
): AccountItem[] {
  const own = grants.filter(({ permissions, site_id }) => permissions.includes(permission) && site_id === null);
  return accounts.filter((account) =>
    own.some(({ account_id }) => account_id === null || account_id === account.account_id),
  );
}
