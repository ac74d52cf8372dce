import { canGrant, placeOf, ROLES, type Role } from '#pipelines/settings/access.ts';
import type { UserItem } from '#services/control_api/users.ts';
import { type Facts, factText } from '../../editing/differences.ts';
import { number } from '../../format.ts';

export type GrantItem = UserItem['grants'][number];

interface PlacedSite {
  site_id: string;
  account_id: string;
}

type Managing = 'users.manage' | 'tokens.manage';

const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  owner: 'Owner: full access, including owners',
  admin: 'Admin: manages settings, members and tokens',
  analyst: 'Analyst: runs any query',
  operator: 'Operator: manages deliveries',
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
  return canGrant({ grants: giver }, grant, permission, table);
}

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

export const roleOptions = (
  giver: readonly GrantItem[],
  place: string,
  permission: Managing,
  sites: readonly PlacedSite[],
): Option[] =>
  LEAST_FIRST.filter((role) => isGivable(giver, grantAt(role, place), permission, sites)).map((role) => ({
    value: role,
    label: ROLE_TEXTS[role],
  }));

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

export interface TokenDraft {
  label: string;
  /** Everything, as an owner of the installation; else what the grants say. */
  isAll: boolean;
  grants: readonly GrantItem[];
  /** Empty: for ever. */
  days: string;
}

const DAY_MS = 86_400_000;
export const DAYS = '90';
export const LIFETIMES = [
  { value: DAYS, label: '90 days' },
  { value: '365', label: '365 days' },
  { value: '7', label: '7 days' },
  { value: '', label: 'Never' },
];

/** When something ends that lasts so many days from now; null: never. */
export const endAfter = (days: string, nowMs: number): number | null =>
  days === '' ? null : nowMs + Number(days) * DAY_MS;

export const tokenBody = ({ label, isAll, grants, days }: TokenDraft, nowMs: number): object => ({
  label: label.trim(),
  ...(!isAll && { grants }),
  expires_at: endAfter(days, nowMs),
});

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
