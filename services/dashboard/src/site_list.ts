import { computed, effect, signal } from '@preact/signals';
import type { SiteItem } from '#services/control_api/sites.ts';
import { type ApiError, listAll, request, sitePath } from './api/request.ts';
import { readStored, writeStored } from './browser_storage.ts';
import { API_ZONE, pageCalendar } from './format.ts';
import { currentLocation, decoded } from './router.ts';

/** The sites that the person may see, by id; null until they are known. */
export const sites = signal<readonly SiteItem[] | null>(null);
export const sitesFailure = signal<ApiError | null>(null);

/** The site that the address names, or null where it names none. */
export const chosenSite = computed<string | null>(() => siteIn(currentLocation.value.path));

const KEY = 'svc_site';

/** The site that was looked at last in this browser; whoever is here now may not see it. */
const lastSite = signal(readStored(() => localStorage, KEY));

/** Where the dashboard begins: at the site that was looked at last, or the first; null where there is none. */
export const siteToOpen = computed<string | null>(() => {
  const known = sites.value ?? [];
  return (known.find(({ site_id }) => site_id === lastSite.value) ?? known[0])?.site_id ?? null;
});

/** The site of the address by itself, for as long as the list is not there; its values null where it could not be read. */
const openedSite = signal<{ id: string; site: SiteItem | null } | null>(null);

const currentSite = computed<SiteItem | null>(() => {
  const id = chosenSite.value;
  const opened = openedSite.value;
  return (
    sites.value?.find(({ site_id }) => site_id === id) ?? (opened !== null && opened.id === id ? opened.site : null)
  );
});

/** Whether it is known by which calendar the page of the address counts. */
export const isCalendarKnown = computed(
  () =>
    chosenSite.value === null ||
    currentSite.value !== null ||
    sites.value !== null ||
    openedSite.value?.id === chosenSite.value,
);

/** The site that links of the navigation are for; where the list is not known, the one that was looked at last. */
export const siteOfLinks = computed<string | null>(
  () => chosenSite.value ?? (sites.value === null ? lastSite.value : siteToOpen.value),
);

export function followSite(): void {
  effect(() => {
    const { time_zone = null, week_start = null } = currentSite.value ?? {};
    const ofSite = { time_zone: time_zone ?? API_ZONE, week_start: week_start ?? 'monday' };
    pageCalendar.value = chosenSite.value === null ? null : ofSite;
  });
  effect(() => {
    if (chosenSite.value === null) return;
    lastSite.value = chosenSite.value;
    writeStored(() => localStorage, KEY, chosenSite.value);
  });
}

/** Counts who the list is for: an answer to somebody before is not theirs. */
let reader = 0;

/** The site that a path of the dashboard is about. */
function siteIn(path: string): string | null {
  const [, first, site] = path.split('/');
  return first === 'sites' && site !== undefined && site !== '' ? decoded(site) : null;
}

/** The same page of another site; a page of one thing of a site leads to the site's first page. */
export function pathAtSite(path: string, siteId: string): string {
  const [, first, , page, ...rest] = path.split('/');
  const kept = first === 'sites' && page !== undefined && rest.length === 0 ? page : 'overview';
  return `/sites/${encodeURIComponent(siteId)}/${kept}`;
}

/** Reads the list of sites; also after one was made or renamed. */
export async function readSites(): Promise<void> {
  const asker = reader;
  if (sites.value === null && chosenSite.value !== null) void readOpened(chosenSite.value);
  const answer = await listAll<SiteItem>('/v1/admin/sites');
  if (asker !== reader) return;
  sites.value = answer.ok ? answer.value.items : sites.value;
  sitesFailure.value = answer.ok ? null : answer.failure;
}

async function readOpened(id: string): Promise<void> {
  const asker = reader;
  const answer = await request<SiteItem>('GET', sitePath(id));
  if (asker === reader) openedSite.value = { id, site: answer.ok ? answer.value : null };
}

/** Forgets the sites of whoever was here, and at which they were. */
export function forgetSites(): void {
  reader += 1;
  lastSite.value = chosenSite.value;
  writeStored(() => localStorage, KEY, null);
  sites.value = null;
  openedSite.value = null;
  sitesFailure.value = null;
}
