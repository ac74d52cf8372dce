import { computed, signal } from '@preact/signals';
import type { SiteItem } from '#services/control_api/site_shapes.ts';
import type { Failure } from './api/api_answer.ts';
import { listAll } from './api/lists.ts';
import { place } from './router.ts';

/** The sites that the person may see, by id; null until they are known. */
export const sites = signal<readonly SiteItem[] | null>(null);
/** Why they are not known. */
export const sitesFailure = signal<Failure | null>(null);

/** The site that the address names, or null where it names none. */
export const chosenSite = computed<string | null>(() => siteIn(place.value.path));

/** The site that links of the navigation are for: the one that is, or was last, looked at, or the first. */
export const siteOfLinks = computed<string | null>(() => {
  last = chosenSite.value ?? last;
  return last ?? sites.value?.[0]?.site_id ?? null;
});
let last: string | null = null;

/** The site that a path of the dashboard is about. */
function siteIn(path: string): string | null {
  const [, first, site] = path.split('/');
  return first === 'sites' && site !== undefined && site !== '' ? decodeURIComponent(site) : null;
}

/** The same page of another site; a page of one thing of a site leads to the site's first page. */
export function pathAtSite(path: string, siteId: string): string {
  const [, first, , page, ...rest] = path.split('/');
  const kept = first === 'sites' && page !== undefined && rest.length === 0 ? page : 'overview';
  return `/sites/${encodeURIComponent(siteId)}/${kept}`;
}

/** Reads the list of sites; also after one was made or renamed. */
export async function readSites(): Promise<void> {
  const answer = await listAll<SiteItem>('/v1/admin/sites');
  sites.value = answer.ok ? answer.value.items : sites.value;
  sitesFailure.value = answer.ok ? null : answer.failure;
}
