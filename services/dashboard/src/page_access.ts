import type { FoundPage } from './page_list.ts';
import type { Page } from './page_spec.ts';
import { sites, sitesFailure } from './site_list.ts';
import { mayAt, mayEverywhere, mayInAccount } from './who.ts';

/** Whether the person may see a page; of the pages of a site, at that one. */
export function maySee({ path, permission, within }: Page, siteId: string | null): boolean {
  if (permission === null) return true;
  if (within === 'installation') return mayEverywhere(permission);
  if (within === 'account') return mayInAccount(permission, null);
  return mayAt(permission, path.startsWith('/sites/:site/') ? siteId : null);
}

/** Whether a page opens for the person. Which account a site is of is known with the list of sites. */
export function opening({ page, params }: FoundPage): 'open' | 'unknown' | 'refused' {
  const siteId = params['site'] ?? null;
  // Without the list the service itself has to say it.
  if (maySee(page, siteId) || (siteId !== null && sites.value === null && sitesFailure.value !== null)) return 'open';
  return siteId !== null && sites.value === null ? 'unknown' : 'refused';
}
