import { may, mayAnywhere, type Permission, type Place, type Principal } from '#pipelines/settings/access.ts';
import type { SettingsView } from '#pipelines/settings/journal.ts';
import type { Input } from './route_input.ts';

/** What a route needs of who asks, and where. */
export interface Needs {
  permission: Permission;
  /** What it may need instead, by what is asked. */
  others?: readonly Permission[];
  /** Which of these it needs for an input; without it, always `permission`. */
  choose?(input: Input, view: SettingsView): Permission;
  /**
   * Where: of several places each. A fact that is not known is nowhere but in the whole installation, so that nobody learns what
   * there is elsewhere. `listed`: anywhere, as what is answered is cut to what may be seen.
   */
  of(input: Input, view: SettingsView, principal: Principal): Place | readonly Place[] | 'listed';
}

/** Who may use a route: whoever comes, whoever is known, or who has a permission. */
export type Access = 'open' | 'known' | Needs;

/** The permission that somebody lacks for a route, and where; null: they may. */
export function lacking(
  access: Access,
  input: Input,
  principal: Principal,
  view: SettingsView,
): { permission: Permission; place: Place | 'listed' } | null {
  if (access === 'open' || access === 'known') return null;
  const permission = access.choose?.(input, view) ?? access.permission;
  const found = access.of(input, view, principal);
  if (found === 'listed') return mayAnywhere(principal, permission) ? null : { permission, place: found };
  const places = Array.isArray(found) ? (found as readonly Place[]) : [found as Place];
  const place = places.find((one) => !may(principal, permission, one, view.table));
  return place === undefined ? null : { permission, place };
}

/** In the site that the path names. */
export const inSite = (permission: Permission): Needs => ({
  permission,
  of: ({ params }) => ({ site: (params as { site_id: string }).site_id }),
});

/** In the account that the path names. */
export const inAccount = (permission: Permission): Needs => ({
  permission,
  of: ({ params }) => ({ account: (params as { account_id: string }).account_id }),
});

/** In the whole installation. */
export const inAll = (permission: Permission): Needs => ({ permission, of: () => 'installation' });

/** In the site that the query names; without one anywhere, and the list is cut. */
export const ofListed = (permission: Permission): Needs => ({
  permission,
  of({ query }) {
    const { site_id } = query as { site_id?: string };
    return site_id === undefined ? 'listed' : { site: site_id };
  },
});

/** In the site that the body names; without one in the whole installation. */
export const inBodySite = (permission: Permission): Needs => ({
  permission,
  of({ body }) {
    const { site_id } = body as { site_id?: string | null };
    return placeOfSite(site_id);
  },
});

/** In the site of the key that the path names. */
export const inKeySite = (permission: Permission): Needs => ({
  permission,
  of: ({ params }, { table }) => placeOfSite(table.keyByHash((params as { key_hash: string }).key_hash)?.site_id),
});

/** In the site of the replay that the path names. */
export const inReplaySite = (permission: Permission): Needs => ({
  permission,
  of: ({ params }, { table }) => placeOfSite(table.replay((params as { replay_id: string }).replay_id)?.site_id),
});

/** Where something of a site is; of no site, or of one that is not known: in the installation. */
export const placeOfSite = (siteId: string | null | undefined): Place =>
  siteId === null || siteId === undefined ? 'installation' : { site: siteId };
