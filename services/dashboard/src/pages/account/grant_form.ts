import { mayGive, placeOf, ROLES, type Role } from '#pipelines/settings/access.ts';
import type { UserItem } from '#services/control_api/users.ts';

/** A role in a place, as the service answers it. */
export type GrantItem = UserItem['grants'][number];

/** A site, as far as it says where it belongs. */
interface PlacedSite {
  site_id: string;
  account_id: string;
}

type Managing = 'users.manage' | 'tokens.manage';

const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  owner: 'Owner: everything, and who owns it',
  admin: 'Admin: changes settings, members and tokens',
  analyst: 'Analyst: asks anything of events',
  operator: 'Operator: keeps deliveries going',
  viewer: 'Viewer: sees totals',
};
const LEAST_FIRST = [...ROLES].reverse();

interface Option {
  value: string;
  label: string;
}

/** A place as the value of a form's field: empty for the installation, else account/ID or site/ID. */
export function placeValue({ account_id, site_id }: GrantItem): string {
  if (site_id !== null) return `site/${site_id}`;
  return account_id === null ? '' : `account/${account_id}`;
}

/** The grant of a role in the place that a field names. */
export function grantAt(role: string, place: string): GrantItem {
  const [kind, id = ''] = place.split('/');
  return { role, account_id: kind === 'account' ? id : null, site_id: kind === 'site' ? id : null };
}

/** A grant in words: analyst of site shop. */
export function grantText(grant: GrantItem): string {
  const { role, account_id, site_id } = grant;
  if (site_id !== null) return `${role} of site ${site_id}`;
  return account_id === null ? `${role} of the installation` : `${role} of account ${account_id}`;
}

/** What a token may, in words. */
export const tokenMayText = (grants: readonly GrantItem[] | null): string =>
  grants === null ? 'everything' : grants.map(grantText).join(', ');

/** Whether somebody may give a grant, or take it away; the service decides it by the same rule. */
export function isGivable(
  giver: readonly GrantItem[],
  grant: GrantItem,
  permission: Managing,
  sites: readonly PlacedSite[],
): boolean {
  const table = { site: (id: string) => sites.find(({ site_id }) => site_id === id) };
  return mayGive({ grants: giver }, grant, permission, table);
}

/** Places where somebody may give a role at all. */
export function placeOptions(
  giver: readonly GrantItem[],
  permission: Managing,
  sites: readonly PlacedSite[],
): Option[] {
  const ofGrants = giver.flatMap(({ account_id }) => (account_id === null ? [] : [account_id]));
  const accounts = [...new Set([...sites.map(({ account_id }) => account_id), ...ofGrants])];
  const all = [
    { value: '', label: 'The whole installation' },
    ...accounts.map((id) => ({ value: `account/${id}`, label: `Account ${id} with its sites` })),
    ...sites.map(({ site_id }) => ({ value: `site/${site_id}`, label: `Site ${site_id}` })),
  ];
  return all.filter(({ value }) => isGivable(giver, grantAt('viewer', value), permission, sites));
}

/** Roles that somebody may give in a place, the least first. */
export function roleOptions(
  giver: readonly GrantItem[],
  place: string,
  permission: Managing,
  sites: readonly PlacedSite[],
): Option[] {
  return LEAST_FIRST.filter((role) => isGivable(giver, grantAt(role, place), permission, sites)).map((role) => ({
    value: role,
    label: ROLE_TEXTS[role],
  }));
}

export const isSame = (one: GrantItem, other: GrantItem): boolean =>
  one.role === other.role && placeValue(one) === placeValue(other);

/** What of somebody's grants says something about a place: of a site also what they have in its account and everywhere. */
export function grantsAt(grants: readonly GrantItem[], place: string, sites: readonly PlacedSite[]): GrantItem[] {
  const wanted = placeOf(grantAt('', place));
  return grants.filter((grant) => {
    if (placeValue(grant) === '' || placeValue(grant) === place) return true;
    if (wanted === 'installation' || !('site' in wanted)) return false;
    const site = sites.find(({ site_id }) => site_id === wanted.site);
    return grant.site_id === null && site !== undefined && site.account_id === grant.account_id;
  });
}
