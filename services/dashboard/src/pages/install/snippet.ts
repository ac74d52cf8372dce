import type { Listing, RecentEventsQuery } from '#pipelines/analytics/event_lists.ts';
import { registrableDomain } from '#pipelines/settings/public_suffixes.ts';

const BROWSER_KEY = /^svc_pk_[A-Za-z0-9]{1,100}$/;

export const isBrowserKey = (text: string): boolean => BROWSER_KEY.test(text);

/** Stands in the line where the key goes until there is one. */
export const KEY_PLACEHOLDER = 'svc_pk_YOUR_BROWSER_KEY';

/** The address of an edge as the tag is loaded from it: an origin; null where the text is none. */
export function edgeOrigin(text: string): string | null {
  try {
    const url = new URL(text.trim());
    return url.protocol === 'https:' || url.protocol === 'http:' ? url.origin : null;
  } catch {
    return null;
  }
}

/** What is put into the head of every page; both have been checked, so that nothing in them ends the attribute. */
export const snippet = (edge: string, key: string): string =>
  `<script async src="${edge}/svc.min.js" data-key="${key}"></script>`;

/** Origins of pages that are likely the site's: of the name that its domains are below, and of all names there. */
export function likelyOrigins(domains: readonly { domain: string }[]): string[] {
  const names = new Set(domains.map(({ domain }) => registrableDomain(domain) ?? domain));
  return [...names].flatMap((name) => [`https://${name}`, `https://*.${name}`]);
}

/** Where the tag of a site is loaded from: a domain of its own that is served, or else the installation's; empty: not known. */
export function usualEdge(domains: readonly { domain: string; state: string }[], installation: string | null): string {
  const own = domains.find(({ state }) => state === 'verified');
  return own === undefined ? (installation ?? '') : `https://${own.domain}`;
}

type Event = Listing['events'][number];

/** How long it takes at most until an event that arrived can be asked for, nearly always. */
const BECOMES_ROW_MS = 60_000;

export interface Watched {
  /** When the page was opened, by the clock of the service. */
  openedMs: number;
  newest: Event | null;
}

/** Asks for the newest event that came by a browser key: one of a server says nothing about the tag. */
export const browserQuestion = (receivedAfter: number): RecentEventsQuery => ({
  limit: 1,
  received_after: receivedAfter,
  filters: [{ field: { column: 'caller' }, is: 'equal', to: ['browser'] }],
});

/** From when on newer events are asked for: those that arrived just before the page was opened may be no rows yet. */
export const askedFrom = ({ openedMs, newest }: Watched): number => newest?.received_at ?? openedMs - BECOMES_ROW_MS;

/** Whether an event came since the page was opened. */
export const cameSince = ({ openedMs, newest }: Watched): boolean => newest !== null && newest.received_at > openedMs;

/** The address of the page that an event came from; empty where it says none. */
export function pageOf({ properties }: Event): string {
  const address = properties['$current_url'] ?? properties['page_location'];
  return typeof address === 'string' ? address : '';
}
