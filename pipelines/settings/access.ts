// Roles, permissions, and how much an account may have.
import type { Grant } from '#schemas/setting.ts';

/** What a route may need. docs/dashboard.md has the table of roles and permissions, which a test compares. */
export const PERMISSIONS = [
  'account.create',
  'account.change',
  'account.read',
  'site.create',
  'site.change',
  'site.erase',
  'site.read',
  'block_rules.change',
  'definitions.change',
  'engage.change',
  'saved.change',
  'alerts.change',
  'keys.read',
  'keys.change',
  'destinations.read',
  'destinations.change',
  'replays.read',
  'replays.change',
  'dead_letters.read',
  'dead_letters.change',
  'query.aggregates',
  'query.events',
  'query.persons',
  'persons.erase',
  'query.sql',
  'queries.manage',
  'tokens.manage',
  'users.manage',
  'audit.read',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

export const ROLES = ['owner', 'admin', 'analyst', 'operator', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

const VIEWER: readonly Permission[] = ['account.read', 'site.read', 'query.aggregates'];

/** What each role permits in the place where it is held. An owner differs from an admin in what may be given on. */
export const ROLE_PERMISSIONS: Readonly<Record<Role, readonly Permission[]>> = {
  owner: PERMISSIONS,
  admin: PERMISSIONS,
  analyst: [
    ...VIEWER,
    'destinations.read',
    'saved.change',
    'alerts.change',
    'query.events',
    'query.persons',
    'query.sql',
  ],
  operator: [
    ...VIEWER,
    'alerts.change',
    'block_rules.change',
    'keys.read',
    'destinations.read',
    'destinations.change',
    'replays.read',
    'replays.change',
    'dead_letters.read',
    'dead_letters.change',
    'query.events',
    'queries.manage',
  ],
  viewer: VIEWER,
};

/** Where something is: in a site, in an account, or in no account at all. */
export type Place = { site: string } | { account: string } | 'installation';

/** Of the settings, whose site a site is: that alone decides what a grant covers. */
interface SiteAccounts {
  site(siteId: string): { account_id: string } | undefined;
}

/** Who asks: the bearer of an admin token, or a user who has signed in. */
export interface Principal {
  kind: 'token' | 'user';
  /** A token's hash, or a user's id. */
  id: string;
  /** What people know it by: a token's label, or a user's name. */
  name: string;
  /** How changes name it. */
  actor: string;
  grants: readonly Grant[];
}

/** The whole installation, with every permission: what a token has that names no grants. */
export const OWNER_OF_ALL: Grant = { role: 'owner', account_id: null, site_id: null };

/** Where a grant holds. */
export function placeOf({ account_id, site_id }: Grant): Place {
  if (site_id !== null) return { site: site_id };
  return account_id === null ? 'installation' : { account: account_id };
}

/** What a grant permits where it holds; a role that is not known permits nothing. */
export function permissionsOf({ role }: Grant): readonly Permission[] {
  return isRole(role) ? ROLE_PERMISSIONS[role] : [];
}

export function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}

/** Whether somebody may do something in a place. */
export function may(
  { grants }: Pick<Principal, 'grants'>,
  permission: Permission,
  place: Place,
  table: SiteAccounts,
): boolean {
  return grants.some((grant) => permissionsOf(grant).includes(permission) && covers(grant, place, table));
}

/** Whether somebody may do something anywhere: then lists are cut to where. */
export function hasPermissionAnywhere({ grants }: Pick<Principal, 'grants'>, permission: Permission): boolean {
  return grants.some((grant) => permissionsOf(grant).includes(permission));
}

/**
 * Whether somebody may give a grant to a user or a token, or take it away: who manages them in a place gives what is
 * held there, and the ownership of a place only its owners.
 */
export function canGrant(
  giver: Pick<Principal, 'grants'>,
  grant: Grant,
  permission: 'tokens.manage' | 'users.manage',
  table: SiteAccounts,
): boolean {
  return giver.grants.some(
    (own) =>
      permissionsOf(own).includes(permission) &&
      covers(own, placeOf(grant), table) &&
      (own.role === 'owner' || grant.role !== 'owner') &&
      !(permission === 'tokens.manage' && own.role !== 'owner' && placeOf(grant) === 'installation'),
  );
}

/** A site has one account as of now; a grant for a site or an account that is there no more holds nowhere. */
function covers({ account_id, site_id }: Grant, place: Place, table: SiteAccounts): boolean {
  if (account_id === null && site_id === null) return true;
  if (place === 'installation') return false;
  if ('account' in place) return site_id === null && account_id === place.account;
  const site = table.site(place.site);
  if (site === undefined) return false;
  return site_id === null ? site.account_id === account_id : site_id === place.site;
}

/** Whose something is: an account, by its id, or with null the installation itself. */
export type Owner = string | null;

/** All accounts together may have so many times what one may: a bound for what every process keeps in memory. */
const OWNERS_TOGETHER = 10;

/** How many there may be in the installation of what each account may have so many of. */
export const inAllMax = (perOwner: number): number => perOwner * OWNERS_TOGETHER;

/** Whose something is that is in some places, each once. A site that is there no more is nobody's. */
export function ownersOf(places: readonly Place[], table: SiteAccounts): Owner[] {
  const owners = places.map((place): Owner | undefined => {
    if (place === 'installation') return null;
    return 'account' in place ? place.account : table.site(place.site)?.account_id;
  });
  return [...new Set(owners.filter((owner) => owner !== undefined))];
}

/**
 * Whether there is room for one more. Each of its owners may have so many, so that no account leaves others without; all
 * together have a bound as well.
 *
 * @param held The owners of each that is there.
 */
export function hasRoom(held: readonly (readonly Owner[])[], wanted: readonly Owner[], perOwner: number): boolean {
  if (held.length >= inAllMax(perOwner)) return false;
  return wanted.every((owner) => held.filter((owners) => owners.includes(owner)).length < perOwner);
}
