import type { Place } from './access.ts';

/** Whose something is: an account, by its id, or with null the installation itself. */
export type Owner = string | null;

/** Of the settings, whose a site is. */
interface SiteAccounts {
  site(siteId: string): { account_id: string } | undefined;
}

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
